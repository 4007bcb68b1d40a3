//! The program's peers: connections by remote address, and name lookups. Shown where it waited for
//! the network.

use super::rows::{dim, rows_shown};
use crate::Look;
use crate::clean::clean;
use crate::paint::{Ink, Line};
use crate::table::{Table, figure, text};
use crate::units::{bytes, count, counted, duration, share};
use model::network::{ConnectionOrigin, PeerProcess};
use model::peers::{ConnectionRow, LookupRow, PeerDoes};
use model::{Ns, Run, State};

/// The share of the wall clock (1 in N) from which waits for the network have these tables.
const WORTH: Ns = 50;
/// Peers on this host that are named.
const PROCESSES: usize = 2;

fn waited(run: &Run) -> bool {
    let network = run.time_in(State::Network);
    network > 0 && network >= run.wall_ns / WORTH
}

/// Connections by peer, with their notes; nothing where the program hardly waited for the network,
/// or it was not observed: then the coverage has the reason.
pub(super) fn connections(run: &Run, look: Look, rows: usize) -> Vec<Line> {
    let Some(all) = run.tables.connections.value().filter(|all| !all.is_empty() && waited(run)) else {
        return Vec::new();
    };
    let columns = vec![
        text("", 14, 0),
        text("service", 5, 5),
        figure("count", 0),
        figure("waited", 0),
        figure("connect p50", 4),
        figure("round trip", 1),
        figure("sent", 2),
        figure("received", 2),
        figure("resent", 3),
    ];
    let mut table = Table::new(look, "connections", columns);
    let shown = rows_shown(all.len(), rows);
    for row in &all[..shown] {
        table.row(vec![
            (Ink::Plain, peer(row)),
            (Ink::Plain, row.service.clone().unwrap_or_default()),
            (Ink::Plain, count(row.times)),
            (Ink::Plain, duration(row.waited_ns)),
            (Ink::Plain, row.connect.map(|connect| duration(connect.p50_ns)).unwrap_or_default()),
            (Ink::Plain, row.round_trip_ns.map(duration).unwrap_or_default()),
            (Ink::Plain, bytes(row.sent_bytes)),
            (Ink::Plain, bytes(row.received_bytes)),
            (Ink::Plain, count(row.retransmits)),
        ]);
    }
    let rest = &all[shown..];
    if !rest.is_empty() {
        let sum = |of: fn(&ConnectionRow) -> u64| rest.iter().map(of).sum::<u64>();
        table.rest(dim([
            format!("{} {} more", look.rest(), count(rest.len() as u64)),
            String::new(),
            count(sum(|row| row.times)),
            duration(sum(|row| row.waited_ns)),
            String::new(),
            String::new(),
            bytes(sum(|row| row.sent_bytes)),
            bytes(sum(|row| row.received_bytes)),
            count(sum(|row| row.retransmits)),
        ]));
    }
    let mut lines = table.lines();
    let (failed, opened) = all.iter().fold((0, 0), |sum, row| match row.began {
        ConnectionOrigin::Opened => (sum.0 + row.failed, sum.1 + row.times),
        ConnectionOrigin::Accepted | ConnectionOrigin::Found => sum,
    });
    if failed > 0 {
        let text = format!("  {failed} of {} were never established", counted(opened, "opened connection"));
        lines.extend(Line::new(look).add(Ink::Plain, &text).wrap(4));
    }
    lines.extend(processes(run, look));
    lines
}

/// The process of this host that serves at an address.
pub(super) fn at<'a>(run: &'a Run, remote: &str) -> Option<&'a PeerProcess> {
    let rows = run.tables.connections.value()?;
    rows.iter().find(|row| row.remote == remote).and_then(|row| row.process.as_ref())
}

/// `postgres (PID 29417)`.
pub(super) fn process(of: &PeerProcess, look: Look) -> String {
    format!("{} (PID {})", clean(&of.name, look.unicode), of.pid)
}

/// Who the peers on this host are that it waited for, and what they did meanwhile:
/// `127.0.0.1:5432 is postgres (PID 29417), which computes meanwhile (1.9 s of CPU time in 2.1 s)`.
pub(super) fn processes(run: &Run, look: Look) -> Vec<Line> {
    let rows = run.tables.connections.value().filter(|_| waited(run)).map_or(&[][..], Vec::as_slice);
    let line = |row: &ConnectionRow| {
        let of = row.process.as_ref().filter(|_| row.waited_ns >= run.whole_ns() / WORTH)?;
        let mut said = format!("{} is {}", clean(&row.remote, look.unicode), process(of, look));
        if let (Some(does), Some(used)) = (row.process_does, of.meanwhile) {
            let cpu = format!("{} of CPU time in {}", duration(used.cpu_ns), duration(used.ns));
            said += &match does {
                PeerDoes::Computes => format!(", which computes meanwhile ({cpu})"),
                PeerDoes::UsesDisks => format!(
                    ", which uses disks meanwhile ({} and {cpu})",
                    bytes(used.disk_bytes.unwrap_or(0))
                ),
                PeerDoes::Waits => format!(", which waits itself most of that time ({cpu})"),
            };
        }
        Some(said)
    };
    let mut said: Vec<String> = rows.iter().filter_map(line).collect();
    said.dedup();
    said.truncate(PROCESSES);
    said.iter().flat_map(|said| Line::new(look).add(Ink::Plain, said).wrap(2)).collect()
}

/// The remote address, and the direction of the connection.
fn peer(row: &ConnectionRow) -> String {
    match row.began {
        ConnectionOrigin::Opened => row.remote.clone(),
        ConnectionOrigin::Accepted => format!("{} from {}", row.local, row.remote),
        ConnectionOrigin::Found => format!("{} already open at {}", row.remote, row.local),
    }
}

/// Name lookups, likewise.
pub(super) fn lookups(run: &Run, look: Look, rows: usize) -> Vec<Line> {
    let Some(all) = run.tables.lookups.value().filter(|all| !all.is_empty() && waited(run)) else {
        return Vec::new();
    };
    let columns = vec![
        text("", 16, 0),
        text("type", 4, 3),
        text("server", 10, 5),
        figure("asked", 0),
        figure("answered", 1),
        figure("total", 0),
        figure("p50", 2),
        figure("max", 4),
    ];
    let mut table = Table::new(look, "name lookups", columns);
    let shown = rows_shown(all.len(), rows);
    for row in &all[..shown] {
        table.row(vec![
            (Ink::Plain, row.name.value().cloned().unwrap_or_else(|| "(other names)".to_owned())),
            (Ink::Plain, row.kind.clone()),
            (Ink::Plain, row.server.clone()),
            (Ink::Plain, count(row.times)),
            (Ink::Plain, count(row.answered)),
            (Ink::Plain, row.answer.map(|answer| duration(answer.total_ns)).unwrap_or_default()),
            (Ink::Plain, row.answer.map(|answer| duration(answer.p50_ns)).unwrap_or_default()),
            (Ink::Plain, row.answer.map(|answer| duration(answer.max_ns)).unwrap_or_default()),
        ]);
    }
    let sum = |rows: &[LookupRow], of: fn(&LookupRow) -> u64| rows.iter().map(of).sum::<u64>();
    let rest = &all[shown..];
    if !rest.is_empty() {
        table.rest(dim([
            format!("{} {} more", look.rest(), count(rest.len() as u64)),
            String::new(),
            String::new(),
            count(sum(rest, |row| row.times)),
            count(sum(rest, |row| row.answered)),
            duration(sum(rest, |row| row.answer.map_or(0, |answer| answer.total_ns))),
            String::new(),
            duration(rest.iter().filter_map(|row| row.answer).map(|answer| answer.max_ns).max().unwrap_or(0)),
        ]));
    }
    let mut lines = table.lines();
    let asked = sum(all, |row| row.times);
    let repeated = sum(all, |row| row.repeated);
    let failed = sum(all, |row| row.failed);
    let mut said = Vec::new();
    if repeated > 0 {
        said.push(format!("{} ({}) repeated an answered one", count(repeated), share(repeated, asked)));
    }
    if failed > 0 {
        said.push(format!("{} failed", count(failed)));
    }
    if !said.is_empty() {
        let text = format!("  of {}, {}", counted(asked, "lookup"), said.join(", "));
        lines.extend(Line::new(look).add(Ink::Plain, &text).wrap(4));
    }
    lines
}
