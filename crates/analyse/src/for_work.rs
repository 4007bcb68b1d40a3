//! Whether a thread waited for its next piece of work: a connection, a request, an event of its
//! loop. Such time bounds nothing: it is `idle`.
//!
//! By the call, and by what ended the wait: a request that came in on a connection that others
//! opened is work, an answer on a connection of the thread's own is not. Of local sockets the
//! recording says which end serves. What a futex is for is
//! known by the stack alone and decided elsewhere (`purpose`).

use crate::calls::{Arch, receives, waits_for_events};
use crate::classify::{Classified, Evidence};
use crate::keys::TargetKey;
use crate::roles::EPHEMERAL_PORT_MIN;
use model::recording::{FileKind, Object, SocketEnds, Waker};
use model::wait::TargetKind;
use model::{Ns, State};

const TCP: u8 = 6;

/// A futex wait that the window cuts, and that lasts for this long in it, is for no lock where no
/// stack tells: a pool without work is far more usual than a lock that is held for so long.
pub(crate) const HELD_NS_MAX: Ns = 100_000_000;

/// Whether the wait was for the next piece of work, or for a child, which has a ledger of its own.
pub(crate) fn is_for_work(classified: Classified, evidence: Evidence<'_>, arch: Arch) -> bool {
    if classified.target == TargetKey::Nameless(TargetKind::Child) {
        return evidence.by_tree();
    }
    if matches!(classified.state, State::Sleep | State::Disk | State::Lock) {
        return false;
    }
    let evidence = evidence.however_it_ended();
    let Some(call) = evidence.call.syscall().and_then(|call| arch.name(call)) else { return false };
    match (evidence.waker, evidence.object) {
        (Waker::Network { ready: Some(ends), .. }, _) | (_, Object::Net(ends)) => {
            (receives(call) || waits_for_events(call)) && is_served(*ends, || evidence.serves(*ends))
        }
        (Waker::Network { ready: None, .. }, _) => false,
        (_, Object::Unix { .. }) => {
            (receives(call) || waits_for_events(call)) && evidence.local.is_some_and(|end| end.serves)
        }
        (_, Object::File { kind: FileKind::EventFd, .. }) => evidence.by_tree(),
        (_, Object::Unknown | Object::File { kind: FileKind::Epoll, .. }) => waits_for_events(call),
        _ => false,
    }
}

/// Whether a wait in a window, or of a program that was started, was `idle`.
pub(crate) fn is_idle(in_window: bool, classified: Classified, evidence: Evidence<'_>, arch: Arch) -> bool {
    if in_window {
        is_for_work(classified, evidence, arch)
    } else {
        is_for_clients(classified, evidence, arch)
    }
}

/// Whether the wait of a program that was started was for a client: nobody had connected to it, or
/// sent it a datagram. A connection that is there may be the link that the program is bound by.
fn is_for_clients(classified: Classified, evidence: Evidence<'_>, arch: Arch) -> bool {
    let ends = match (evidence.waker, evidence.object) {
        (Waker::Network { ready: Some(ends), .. }, _) | (_, Object::Net(ends)) => ends,
        _ => return false,
    };
    ends.remote_port == 0 && is_for_work(classified, evidence, arch)
}

/// Whether this end is the service: it listens, or it `serves` the other end of its connection.
pub(crate) fn is_served(ends: SocketEnds, serves: impl FnOnce() -> bool) -> bool {
    if ends.remote_port == 0 {
        // A UDP socket that only asks has a port of its own, too.
        return ends.protocol == TCP || ends.local_port < EPHEMERAL_PORT_MIN;
    }
    serves()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::classify;
    use crate::keys::SocketName;
    use crate::local_sockets::LocalEnd;
    use model::Call;
    use model::recording::{Comm, WaitContext};

    const EPOLL_WAIT: Call = Call(232);
    const RECVFROM: Call = Call(45);
    const SENDTO: Call = Call(44);
    const ACCEPT: Call = Call(43);

    fn ends(protocol: u8, local_port: u16, remote_port: u16) -> SocketEnds {
        SocketEnds { protocol, local: [0; 16], local_port, remote: [0; 16], remote_port }
    }

    fn ready(ends: SocketEnds) -> Waker {
        Waker::Network { over: 9, ready: Some(ends) }
    }

    fn of(call: Call, on: Object, waker: Waker) -> bool {
        of_end(call, on, waker, None)
    }

    fn of_end(call: Call, on: Object, waker: Waker, local: Option<LocalEnd>) -> bool {
        let wait = WaitContext { call: Some(call), uninterruptible: false, io: false, on };
        let evidence = Evidence { local, ..Evidence::traced(&wait, &waker, TargetKey::External) };
        is_for_work(classify(evidence, Arch::X86), evidence, Arch::X86)
    }

    #[test]
    fn a_request_is_work_and_an_answer_is_not() {
        let (client, server) = (ends(TCP, 40_000, 6379), ends(TCP, 6379, 40_000));
        assert!(of(EPOLL_WAIT, Object::Unknown, ready(server)));
        assert!(!of(EPOLL_WAIT, Object::Unknown, ready(client)));
        assert!(of(RECVFROM, Object::Net(server), ready(server)));
        assert!(!of(RECVFROM, Object::Net(client), ready(client)));
        assert!(!of(SENDTO, Object::Net(server), ready(server)), "the client is slow to take it");
        assert!(of(ACCEPT, Object::Net(ends(TCP, 80, 0)), Waker::Unknown));
        assert!(of(RECVFROM, Object::Net(ends(17, 53, 0)), Waker::Unknown), "a server of names");
        assert!(!of(RECVFROM, Object::Net(ends(17, 45_000, 0)), Waker::Unknown), "one that asks it");
    }

    #[test]
    fn a_program_that_was_started_waits_for_clients_that_have_not_come() {
        let clients = |call: Call, on: Object, waker: Waker| {
            let wait = WaitContext { call: Some(call), uninterruptible: false, io: false, on };
            let evidence = Evidence::traced(&wait, &waker, TargetKey::External);
            is_for_clients(classify(evidence, Arch::X86), evidence, Arch::X86)
        };
        let (listener, server) = (ends(TCP, 80, 0), ends(TCP, 80, 40_000));
        assert!(clients(ACCEPT, Object::Net(listener), ready(listener)));
        assert!(clients(EPOLL_WAIT, Object::Unknown, ready(listener)));
        assert!(clients(RECVFROM, Object::Net(ends(17, 53, 0)), Waker::Unknown), "a server of names");
        assert!(!clients(RECVFROM, Object::Net(server), ready(server)), "an upload may be slow");
        assert!(!clients(EPOLL_WAIT, Object::Unknown, Waker::Unknown), "on what is not known");
    }

    #[test]
    fn events_of_a_loop_are_work_whoever_of_the_tree_sends_them() {
        let thread = || Waker::Task { tid: 7, name: None };
        let event_fd = Object::File { kind: FileKind::EventFd, dev: 1, ino: 1, name: Comm::default() };
        assert!(of(EPOLL_WAIT, Object::Unknown, thread()));
        assert!(of(EPOLL_WAIT, event_fd.clone(), thread()));
        assert!(of(Call(0), event_fd, thread()));
        assert!(of(EPOLL_WAIT, Object::Unknown, Waker::Unknown), "to the end of the window");
        assert!(!of(EPOLL_WAIT, Object::Unknown, Waker::Timer), "a sleep");
        assert!(!of(Call(202), Object::Futex { address: 16 }, thread()), "its stack tells");
        assert!(of(Call(61), Object::Unknown, thread()), "a child has a ledger of its own");
    }

    #[test]
    fn the_end_of_a_local_socket_that_serves_waits_for_work() {
        let unix = || Object::Unix { ino: 1, peer: 2 };
        let end = |serves| Some(LocalEnd { serves, server: SocketName(0) });
        for waker in [Waker::Task { tid: 7, name: Some("client".into()) }, Waker::Unknown] {
            for call in [RECVFROM, EPOLL_WAIT] {
                assert!(of_end(call, unix(), waker.clone(), end(true)), "{call:?}, {waker:?}");
                assert!(!of_end(call, unix(), waker.clone(), end(false)), "an answer");
                assert!(!of_end(call, unix(), waker.clone(), None), "which end serves is not known");
            }
            assert!(of_end(ACCEPT, unix(), waker.clone(), end(true)));
            assert!(!of_end(SENDTO, unix(), waker, end(true)), "the client is slow to take it");
        }
        assert!(
            of_end(RECVFROM, unix(), Waker::Timer, end(true)),
            "its time limit ended it, and nobody came"
        );
    }
}
