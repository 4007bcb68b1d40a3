//! A program that was run and turned out to be a server: how long it ran was up to who stopped it,
//! and how long it waited up to its clients.

use model::finding::CauseName;
use model::network::{ConnectionOrigin, Endpoint};
use model::peers::ConnectionRow;
use model::wait::WaitTarget;
use model::{RuledOut, Run, State, say};

/// The port at which a run waited for work: one of its threads did so for half of the wall clock or
/// more. None where the clients were of the run as well, which ended when they had all they wanted.
pub(super) fn port(run: &Run) -> Option<u16> {
    if run.window.is_some() {
        return None;
    }
    let rows = run.tables.connections.value().map_or(&[][..], Vec::as_slice);
    let own_client = |port: u16, row: &ConnectionRow| {
        row.began == ConnectionOrigin::Opened && port_of(&row.remote) == Some(port)
    };
    let waits = run.waits.iter().filter(|wait| wait.reason == State::Idle);
    let ports = waits.filter_map(|wait| match &wait.on {
        WaitTarget::Tcp(end) if wait.threads.first().is_some_and(|most| most.ns * 2 >= run.wall_ns) => {
            Some(end.port)
        }
        _ => None,
    });
    ports.into_iter().find(|port| *port != 0 && !rows.iter().any(|row| own_client(*port, row)))
}

/// Whether what a cause saves is time until the end of the run, and nothing else.
pub(super) fn delays_the_end(cause: &CauseName) -> bool {
    matches!(&*cause.id, "sleep-polling" | "timeout")
}

/// Why such a cause is none of a server's.
pub(super) fn is_one() -> RuledOut {
    say!("it is a server, which runs until it is stopped: no sleep of it delays the end").into()
}

fn port_of(end: &str) -> Option<u16> {
    Endpoint::read(end).map(|end| end.port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{connection, run, wait, waiting};
    use model::{Ns, Seen};

    const MS: Ns = 1_000_000;

    fn waits_at(end: &str, ns: Ns) -> Run {
        let mut run = run(&[(State::Idle, 1000 * MS)]);
        let on = WaitTarget::Tcp(Endpoint::read(end).expect("an end"));
        run.waits = vec![wait(State::Idle, on, &[waiting(1, ns)])];
        run
    }

    #[test]
    fn who_waits_at_a_port_for_most_of_the_run_is_a_server() {
        assert_eq!(port(&waits_at("0.0.0.0:8000", 500 * MS)), Some(8000));
        assert_eq!(port(&waits_at("0.0.0.0:8000", 499 * MS)), None);
    }

    #[test]
    fn a_run_that_has_its_clients_as_well_is_none() {
        let mut run = waits_at("127.0.0.1:8000", 900 * MS);
        run.tables.connections = Seen::Value(vec![connection("127.0.0.1:8000")]);
        assert_eq!(port(&run), None);
        run.tables.connections = Seen::Value(vec![connection("192.0.2.1:5432")]);
        assert_eq!(port(&run), Some(8000));
    }
}
