//! The program's peers: connections by remote address, and name lookups. Shown where it waited for
//! the network.

use super::rows::{dim, rows_shown};
use crate::Look;
use crate::paint::{Ink, Line};
use crate::table::{Table, figure, text};
use crate::units::{bytes, count, counted, duration, share};
use model::network::ConnectionOrigin;
use model::peers::{ConnectionRow, LookupRow};
use model::{Ns, Run, State};

/// The share of the wall clock (1 in N) from which waits for the network have these tables.
const WORTH: Ns = 50;

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
    lines
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
