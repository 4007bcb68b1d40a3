//! Peers of the tree, as several causes see them: what they are called, whose requests they answer,
//! and what the waits for them have of the run.

use crate::judge::Evidence;
use crate::judge::file_calls::RemovedCalls;
use crate::judge::predict::{Kind, Part, Parts, Removal};
use crate::judge::removed_with::RemovedWith;
use model::coverage::Interval;
use model::network::{ConnectionOrigin, Endpoint};
use model::peers::ConnectionRow;
use model::prediction::Site;
use model::sentence::Piece::Name;
use model::syscall_rows::CallRow;
use model::wait::{SyscallName, WaitTarget};
use model::{Ns, Sentence, say};
use rustc_hash::FxHashMap;

/// What a request and its answer have at most, each way; with more it is a transfer. Ten segments
/// go at once when a connection begins (RFC 6928), and up to this size two round trips more.
pub(super) const REQUEST_BYTES_MAX: u64 = 64 << 10;

/// `192.0.2.1:5432 (postgresql)`.
pub(super) fn name(row: &ConnectionRow) -> Sentence {
    match &row.service {
        Some(service) => say!(Name(format!("{} ({service})", row.remote))),
        None => say!(Name(row.remote.clone())),
    }
}

/// Whether threads of the tree ask and the other end answers.
pub(super) fn asks(row: &ConnectionRow) -> bool {
    row.began != ConnectionOrigin::Accepted && Endpoint::read(&row.remote).is_some()
}

/// What waits on these connections are for: the end that is the service.
fn target(row: &ConnectionRow) -> Option<WaitTarget> {
    [&row.remote, &row.local].into_iter().find_map(|end| Endpoint::read(end)).map(WaitTarget::Tcp)
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
        Some(_) => evidence.site(&site).map(|_| Removal::Sites(vec![site], share_ns)),
        None => Some(Removal::Account(share_ns, Kind::Waiting)),
    }
}

/// These waits; at most with the calls that wait so, and with what the program does only to make
/// them: bytes that do not come are not taken either. `part`: of the waits.
pub(super) fn with_calls(
    evidence: &Evidence<'_>,
    row: &ConnectionRow,
    waits: Removal,
    part: Part,
) -> Removal {
    let Removal::Sites(sites, _) = &waits else { return waits };
    let mut waited = FxHashMap::<&SyscallName, Ns>::default();
    for wait in evidence.run.waits.iter().filter(|wait| Some(&wait.on) == target(row).as_ref()) {
        if let Some(call) = wait.call.syscall() {
            *waited.entry(call).or_default() += wait.path_ns;
        }
    }
    let rows = evidence.run.tables.syscalls.value().map_or(&[][..], Vec::as_slice);
    let gone = |row: &'_ CallRow| {
        let part = evidence.part_of_waits(&row.name, *waited.get(&row.name)?);
        Some((row.calls as f64 * part) as u64)
    };
    let gone: Vec<_> = rows.iter().filter_map(|row| Some(RemovedCalls::of(row, gone(row)?))).collect();
    let beside_ns: Ns = waited.iter().map(|(call, ns)| evidence.beside_waits_ns(call, *ns)).sum();
    let cpu_ns = beside_ns + evidence.along_ns(&gone, RemovedWith::Makers);
    let sites = sites.iter().map(|site| (site.clone(), part)).collect();
    let account_ns = share(&waits, part);
    let parts = Parts { sites, beside_ns: 0, cpu_ns, account_ns, kind: Kind::Waiting, of_all: false };
    Removal::Parts(parts.and_beside(cpu_ns))
}

/// The part of these waits that so much time is. A server of the tree waits as well, for requests:
/// that time is not the service's.
pub(super) fn part(evidence: &Evidence<'_>, row: &ConnectionRow, ns: Ns) -> f64 {
    let rows = evidence.run.tables.connections.value().map_or(&[][..], Vec::as_slice);
    let same = |other: &&ConnectionRow| other.remote == row.remote && target(other) == target(row);
    let waited_ns: Ns = rows.iter().filter(same).map(|other| other.waited_ns).sum();
    (ns as f64 / waited_ns.max(1) as f64).min(1.0)
}

/// A part of what goes, as time of the account.
pub(super) fn share(goes: &Removal, part: (f64, f64)) -> Interval {
    let ns = match goes {
        Removal::Sites(_, ns) | Removal::Account(ns, _) => *ns,
        _ => Interval::default(),
    };
    Interval { lo: (ns.lo as f64 * part.0) as Ns, hi: (ns.hi as f64 * part.1) as Ns }
}
