//! Which process serves at the other end of a connection, and what it does meanwhile.

use model::Ns;
use model::network::{ConnectionOrigin, PeerProcess};
use model::peers::{ConnectionRow, PeerDoes};

/// Bytes of disks in a nanosecond from which they are what a peer is busy with: one page each
/// millisecond. A write that waits for a disk takes as long, and a log has less.
const DISK_BYTES_PER_MS: u64 = 4096;
/// For less time than this, steps of 10 ms of CPU time say nothing.
const WAITED_NS_MIN: Ns = 50_000_000;

/// The rows with the processes of this host that serve at their other end.
pub(crate) fn of(mut rows: Vec<ConnectionRow>, processes: &[PeerProcess]) -> Vec<ConnectionRow> {
    for row in rows.iter_mut().filter(|row| row.began != ConnectionOrigin::Accepted) {
        let process = processes.iter().find(|process| process.remote == row.remote);
        let waiting_ns = row.dialogue.map_or(0, |dialogue| dialogue.waiting_ns);
        row.process_does = process.and_then(|process| does(process, waiting_ns));
        row.process = process.cloned();
    }
    rows
}

/// What a process does while it is waited for. It may have done that for others, and at other
/// times: half of the time is no accident.
fn does(process: &PeerProcess, waiting_ns: Ns) -> Option<PeerDoes> {
    let of = process.meanwhile?;
    if waiting_ns < WAITED_NS_MIN {
        return None;
    }
    let disk_bytes = of.disk_bytes.unwrap_or(0);
    Some(if of.cpu_ns * 2 >= waiting_ns {
        PeerDoes::Computes
    } else if of.cpu_ns * 4 >= waiting_ns {
        // It may have computed, and waited for a CPU.
        return None;
    } else if disk_bytes >= DISK_BYTES_PER_MS * (waiting_ns / 1_000_000) {
        PeerDoes::UsesDisks
    } else {
        PeerDoes::Waits
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::connection;
    use model::network::PeerUse;
    use model::peers::Dialogue;

    const MS: Ns = 1_000_000;

    #[test]
    fn a_peer_on_this_host_has_its_name_and_what_it_does() {
        let postgres = |cpu_ns, disk_bytes| PeerProcess {
            remote: "127.0.0.1:5544".to_owned(),
            pid: 29_417,
            name: "postgres".to_owned(),
            processes: vec![29_417, 29_420],
            meanwhile: Some(PeerUse { ns: 2000 * MS, cpu_ns, disk_bytes }),
        };
        let row = |process, waiting_ns| {
            let dialogue = Some(Dialogue { waiting_ns, ..Dialogue::default() });
            of(vec![ConnectionRow { dialogue, ..connection("127.0.0.1:5544") }], &[process]).remove(0)
        };
        let does = |cpu_ns, disk_bytes| row(postgres(cpu_ns, disk_bytes), 1000 * MS).process_does;
        assert_eq!(does(500 * MS, None), Some(PeerDoes::Computes));
        assert_eq!(does(490 * MS, Some(5_000_000)), None, "it may have waited for a CPU");
        assert_eq!(does(240 * MS, Some(5_000_000)), Some(PeerDoes::UsesDisks));
        assert_eq!(does(240 * MS, Some(4_000_000)), Some(PeerDoes::Waits));
        let short = row(postgres(500 * MS, None), 49 * MS);
        assert_eq!((short.process.map(|of| of.pid), short.process_does), (Some(29_417), None));
        let elsewhere = of(vec![connection("192.0.2.1:5544")], &[postgres(0, None)]).remove(0);
        assert_eq!(elsewhere.process, None);
    }
}
