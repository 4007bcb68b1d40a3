//! Peers of the tree, as several causes see them: what they are called, whose requests they answer,
//! and what the waits for them have of the run.

use crate::judge::Evidence;
use crate::judge::predict::{Kind, Removal};
use model::coverage::Interval;
use model::network::{ConnectionOrigin, Endpoint};
use model::peers::{ConnectionRow, PeerDoes, Turns};
use model::prediction::Site;
use model::sentence::Piece::{Bytes, Name, Ns as Time};
use model::wait::WaitTarget;
use model::{Ns, Pid, Seen, Sentence, say};

/// What a request and its answer have at most, each way; with more it is a transfer. Ten segments
/// go at once when a connection begins (RFC 6928), and up to this size two round trips more.
pub(super) const REQUEST_BYTES_MAX: u64 = 64 << 10;

/// `192.0.2.1:5432 (postgresql)`, `postgres (PID 29417) at 127.0.0.1:5432`.
pub(super) fn name(row: &ConnectionRow) -> Sentence {
    match (&row.process, &row.service) {
        (Some(process), _) => {
            let pid = process.pid.to_string();
            say!(Name(process.name.clone()), " (PID ", Name(pid), ") at ", Name(row.remote.clone()))
        }
        (None, Some(service)) => say!(Name(format!("{} ({service})", row.remote))),
        (None, None) => say!(Name(row.remote.clone())),
    }
}

/// What a peer on this host did meanwhile, where that is known.
pub(super) fn does(row: &ConnectionRow) -> Option<Sentence> {
    let process = row.process.as_ref()?;
    let of = process.meanwhile?;
    let used = say!(Time(of.cpu_ns), " of CPU time in ", Time(of.ns));
    let what = match row.process_does? {
        PeerDoes::Computes => say!(" computes meanwhile: ").and(used),
        PeerDoes::UsesDisks => {
            let bytes = of.disk_bytes.unwrap_or(0);
            say!(" reads and writes disks meanwhile: ", Bytes(bytes), ", and ").and(used)
        }
        PeerDoes::Waits => say!(" waits itself most of that time: ").and(used),
    };
    Some(say!(Name(process.name.clone())).and(what))
}

/// Whether a process is of a peer on this host.
pub(super) fn serves(evidence: &Evidence<'_>, pid: &Seen<Pid>) -> bool {
    let Seen::Value(pid) = pid else { return false };
    let rows = evidence.run.tables.connections.value().map_or(&[][..], Vec::as_slice);
    rows.iter().filter_map(|row| row.process.as_ref()).any(|process| process.processes.contains(pid))
}

/// Whether threads of the tree ask and the other end answers.
pub(super) fn asks(row: &ConnectionRow) -> bool {
    row.began != ConnectionOrigin::Accepted && Endpoint::read(&row.remote).is_some()
}

/// Whether this end is the service.
pub(super) fn is_served(row: &ConnectionRow) -> bool {
    let found = row.began == ConnectionOrigin::Found
        && Endpoint::read(&row.local).is_some()
        && Endpoint::read(&row.remote).is_none();
    row.began == ConnectionOrigin::Accepted || found
}

/// All turns with a peer.
pub(in crate::judge) fn turns(connections: &[ConnectionRow], peer: Endpoint) -> Turns {
    let of_peer = connections.iter().filter(|row| Endpoint::read(&row.remote) == Some(peer));
    of_peer.filter_map(|row| row.turns.as_ref()).fold(Turns::default(), |mut all, turns| {
        all.add(turns);
        all
    })
}

/// What waits on these connections are for: the end that is the service.
fn target(row: &ConnectionRow) -> Option<WaitTarget> {
    [&row.remote, &row.local].into_iter().find_map(|end| Endpoint::read(end)).map(WaitTarget::Tcp)
}

/// Whether threads of the tree ask this service of it.
pub(super) fn has_clients(evidence: &Evidence<'_>, row: &ConnectionRow) -> bool {
    let rows = evidence.run.tables.connections.value().map_or(&[][..], Vec::as_slice);
    rows.iter().any(|other| asks(other) && target(other) == target(row))
}

/// The waits for the service, all of them; none where they are less than 1 % of the run.
pub(super) fn goes(evidence: &Evidence<'_>, row: &ConnectionRow) -> Option<Removal> {
    if evidence.run.window.is_some() {
        return Some(Removal::Account(Interval { lo: row.waited_ns, hi: row.waited_ns }, Kind::Waiting));
    }
    let target = target(row)?;
    let of_target = evidence.run.waits.iter().filter(|wait| wait.on == target);
    let path_ns: Ns = of_target.map(|wait| wait.path_ns).sum();
    let share_ns = Interval { lo: path_ns, hi: path_ns };
    let site = Site::Peer(target);
    match evidence.prediction {
        Some(_) => evidence.site(&site).map(|_| Removal::Account(share_ns, Kind::Waiting)),
        None => Some(Removal::Account(share_ns, Kind::Waiting)),
    }
}

/// The part of these waits that so much time is. A server of the tree waits as well, for requests:
/// that time is not the service's. What its answers take are waits of its clients.
pub(super) fn part(evidence: &Evidence<'_>, row: &ConnectionRow, ns: Ns) -> f64 {
    let rows = evidence.run.tables.connections.value().map_or(&[][..], Vec::as_slice);
    let side = |other: &ConnectionRow| if is_served(row) { asks(other) } else { other.remote == row.remote };
    let same = |other: &&ConnectionRow| side(other) && target(other) == target(row);
    let waited_ns: Ns = rows.iter().filter(same).map(|other| other.waited_ns).sum();
    (ns as f64 / waited_ns.max(1) as f64).min(1.0)
}

/// A part of what goes, as time of the account.
pub(super) fn share(goes: &Removal, part: (f64, f64)) -> Interval {
    let ns = match goes {
        Removal::Account(ns, _) => *ns,
        _ => Interval::default(),
    };
    Interval { lo: (ns.lo as f64 * part.0) as Ns, hi: (ns.hi as f64 * part.1) as Ns }
}
