//! Requests that a server answered: how long they took, what typical ones and slow ones were spent
//! at, and what the slow ones have more.

use super::rows::{dim, rows_shown};
use super::words;
use crate::Look;
use crate::paint::{Ink, Line};
use crate::table::{Table, figure, text};
use crate::units::{count, counted, duration, duration_range, share_of_one, three_digits};
use model::requests::{
    Deadline, KindPart, RequestFinding, RequestPart, RequestTime, Requests, SlowOrTypical, Unit,
};
use model::wait::{StackFrame, WaitCall, WaitTarget};
use model::{Ns, Reason, Run, Seen, State};

/// The part of the time of slow requests, or of typical ones, from which a row is worth its line.
const WORTH: f64 = 0.01;
/// The cause whose finding tells how often.
const SERIAL: &str = "serial-requests";
/// Findings on a page that fits a screen.
const FINDINGS: usize = 2;
/// The part of a typical call (1 in N) from which it is told that it is dwell's own.
const FOLLOWING: Ns = 20;
/// From this width on there is room for more than the place of who ended a wait.
const WIDE: u16 = 100;
/// The part of a wait (1 in N) from which it is told what those did who ended it; and of a part,
/// that others wait meanwhile.
const HELD_WORTH: Ns = 5;

/// The lines; none of a program that answered no request.
pub(super) fn table(run: &Run, look: Look, rows: usize) -> Vec<Line> {
    let Some(all) = run.tables.requests.value() else { return Vec::new() };
    if all.times == 0 {
        return none(all, look);
    }
    let mut lines = summary(all, run, look);
    // On a screen with hardly any room the first says most.
    let is_short = rows <= 1 && !look.is_document();
    let few = if is_short { 1 } else { FINDINGS };
    let most = if look.is_document() { all.findings.len() } else { few };
    lines.extend(all.findings.iter().take(most).flat_map(|found| finding(found, all, look)));
    let mut parts: Vec<&RequestPart> = all.parts.iter().collect();
    let whole = |of: fn(&RequestPart) -> Ns| all.parts.iter().map(of).sum::<Ns>().max(1) as f64;
    let (typical_ns, slow_ns) = (whole(|part| part.typical_ns), whole(|part| part.slow_ns));
    // Of either kind of requests, what most of the time went to.
    let share = |part: &RequestPart| (part.typical_ns as f64 / typical_ns).max(part.slow_ns as f64 / slow_ns);
    parts.sort_by(|one, other| share(other).total_cmp(&share(one)));
    let worth = parts.iter().take_while(|part| share(part) >= WORTH).count();
    let shown = rows_shown(if look.is_document() { parts.len() } else { worth }, rows);
    let columns = vec![
        text("", 12, 0),
        text("", 14, 0),
        text("", 10, 1),
        figure("typical", 0),
        figure("slow", 0),
        figure("more in slow", 1),
        figure("p99 without", 2),
    ];
    let article = if all.unit == Unit::Operation { "an" } else { "a" };
    let mut table = Table::new(look, &format!("{article} {}'s time", all.unit.name()), columns);
    let by = if look.width >= WIDE { "ended by" } else { "by" };
    for part in &parts[..shown] {
        table.row(vec![
            (Ink::Plain, part.place.value().map(words::located).unwrap_or_default()),
            (ink(part.at), at(part.at, all.unit).to_owned()),
            (Ink::Plain, reason(&part.call, &part.on, part.at, part.place.value().is_some())),
            (Ink::Plain, duration(part.typical_ns)),
            (Ink::Plain, duration(part.slow_ns)),
            (Ink::Plain, more(part, look)),
            (Ink::Plain, duration(part.without.p99_ns)),
        ]);
        for held in part.held.iter().filter(|held| held.slow_ns.saturating_mul(HELD_WORTH) >= part.slow_ns) {
            table.row(vec![
                (Ink::Dim, format!("  {by} {}", held.place.value().map(words::located).unwrap_or_default())),
                (Ink::Dim, at(held.at, all.unit).to_owned()),
                (Ink::Dim, reason(&held.call, &held.on, held.at, false)),
                (Ink::Dim, String::new()),
                (Ink::Dim, duration(held.slow_ns)),
                (Ink::Dim, String::new()),
                (Ink::Dim, String::new()),
            ]);
        }
    }
    let rest = &parts[shown..];
    if !rest.is_empty() {
        let sum = |of: fn(&RequestPart) -> Ns| duration(rest.iter().map(|part| of(part)).sum());
        table.rest(dim([
            format!("{} {}", look.rest(), counted(rest.len() as u64, "more part")),
            String::new(),
            String::new(),
            sum(|part| part.typical_ns),
            sum(|part| part.slow_ns),
            String::new(),
            String::new(),
        ]));
    }
    lines.extend(table.lines());
    if !is_short {
        lines.extend(by_kind(all, look, rows));
    }
    lines
}

/// Where others than requests were asked for and none was seen.
fn none(all: &Requests, look: Look) -> Vec<Line> {
    let of = all.unit_of.as_deref().unwrap_or_default();
    let why = match all.unit {
        Unit::Request if all.under_way == 0 => return Vec::new(),
        Unit::Request => format!("{} came in, and none was answered", counted(all.under_way, "request")),
        Unit::Cycle => "no thread slept twice, or none of that name".to_owned(),
        Unit::Call | Unit::Operation if all.under_way + all.abandoned > 0 => {
            format!("{of} began {}, and did not end", counted(all.under_way + all.abandoned, "time"))
        }
        Unit::Call | Unit::Operation => format!("none of {of} began"),
    };
    let what = match all.unit {
        Unit::Request => "no answers:".to_owned(),
        unit => format!("no {}s:", unit.name()),
    };
    Line::new(look).add(Ink::Bold, &what).add(Ink::Plain, &format!(" {why}")).wrap(2)
}

/// What they are, and by what they are told apart.
pub(crate) fn by(unit: Unit) -> (&'static str, &'static str) {
    match unit {
        Unit::Request => ("requests", "kind"),
        Unit::Cycle => ("cycles", "thread"),
        Unit::Call => ("calls", "thread"),
        Unit::Operation => ("operations", "thread"),
    }
}

/// What requests ask for: how long each kind takes, how many of the slow ones are of it, and what
/// it spends most time at.
fn by_kind(all: &Requests, look: Look, rows: usize) -> Vec<Line> {
    let (of, by) = by(all.unit);
    let columns = vec![
        text("", 16, 0),
        figure(of, 1),
        figure("p50", 0),
        figure("p99", 0),
        figure("slow", 0),
        figure("of time", 1),
        text("most time", 12, 2),
        figure("there", 2),
    ];
    let mut table = Table::new(look, &format!("{of} by {by}"), columns);
    let total_ns = all.latency.mean_ns as f64 * all.sample() as f64;
    let whole = if look.is_document() { all.kinds.len() } else { rows_shown(all.kinds.len(), rows) };
    for kind in &all.kinds[..whole] {
        let most = kind.parts.first();
        let time = kind.latency.mean_ns as f64 * kind.times as f64;
        table.row(vec![
            (Ink::Plain, kind_name(&kind.kind)),
            (Ink::Plain, count(kind.times)),
            (Ink::Plain, duration(kind.latency.p50_ns)),
            (Ink::Plain, duration(kind.latency.p99_ns)),
            (Ink::Plain, count(kind.slow)),
            (Ink::Plain, share_of_one(time / total_ns.max(1.0))),
            (
                most.map_or(Ink::Plain, |part| ink(part.at)),
                most.map(|part| spent_at(part, all.unit)).unwrap_or_default(),
            ),
            (Ink::Plain, most.map(|part| duration(part.mean_ns)).unwrap_or_default()),
        ]);
    }
    let rest = &all.kinds[whole..];
    if !rest.is_empty() {
        let mut cells = vec![String::new(); 8];
        cells[0] = format!("{} {}", look.rest(), counted(rest.len() as u64, &format!("more {by}")));
        cells[1] = count(rest.iter().map(|kind| kind.times).sum());
        cells[4] = count(rest.iter().map(|kind| kind.slow).sum());
        table.rest(cells.into_iter().map(|cell| (Ink::Dim, cell)).collect());
    }
    if all.kinds.is_empty() { Vec::new() } else { table.lines() }
}

pub(crate) fn kind_name(kind: &Seen<String>) -> String {
    match kind {
        Seen::Value(kind) => kind.clone(),
        Seen::Absent => "not read".to_owned(),
        Seen::Unseen(_) => "other kinds".to_owned(),
    }
}

/// `lock price (api.py:26)`, `network 127.0.0.1:5432`.
fn spent_at(part: &KindPart, unit: Unit) -> String {
    let of = match part.place.value() {
        Some(place) => words::located(place),
        None => reason(&part.call, &part.on, part.at, false),
    };
    format!("{} {of}", at(part.at, unit)).trim_end().to_owned()
}

/// `slow requests wait 40.1-47.8 ms more for tcp 10.0.0.7:5432, at least 25 times one after
/// another: p99 about 848 us without it, not 41.5 ms`.
fn finding(found: &RequestFinding, all: &Requests, look: Look) -> Vec<Line> {
    let Some(part) = all.parts.get(found.part) else { return Vec::new() };
    let more = match found.of {
        SlowOrTypical::Slow => {
            let [lo, hi] = part.more_ns.map(i64::unsigned_abs);
            format!("{} more", duration_range(lo, hi, look.dash()))
        }
        SlowOrTypical::Typical => duration(part.typical_ns),
    };
    let (who, now_ns, then_ns, name) = match found.of {
        SlowOrTypical::Slow => ("slow", all.latency.p99_ns, part.without.p99_ns, "p99"),
        SlowOrTypical::Typical => ("typical", all.latency.p50_ns, part.without.p50_ns, "p50"),
    };
    let who = format!("{who} {}s", all.unit.name());
    let in_turn = match found.cause.value().is_some_and(|cause| cause.id == SERIAL) {
        true => format!(", at least {} times one after another", count(found.turns)),
        false => String::new(),
    };
    let awaited = part.awaited_slow_ns.saturating_sub(part.awaited_typical_ns);
    let others = match found.of {
        SlowOrTypical::Slow if awaited.saturating_mul(HELD_WORTH) >= part.slow_ns => {
            format!(", and wait {} more for others that do", duration(awaited))
        }
        _ => String::new(),
    };
    let holder = match found.of {
        SlowOrTypical::Slow if part.at == RequestTime::Thread(State::Lock) => holder(part),
        _ => String::new(),
    };
    let does = does(part, &more, all.unit.another());
    let line = Line::new(look).add(Ink::Bold, &format!("{who} {does}{holder}{in_turn}{others}"));
    let without = match then_ns < now_ns {
        true => format!(": {name} about {} without it, not {}", duration(then_ns), duration(now_ns)),
        false => format!(": {name} is the same without it alone"),
    };
    let line = line.add(Ink::Plain, &without);
    let line = match found.cause.value() {
        Some(cause) => line.add(Ink::Dim, &format!("   {}", cause.id)),
        None => line,
    };
    line.wrap(2)
}

/// `, whose holder is at main.go:17 main.reserve (timer)`: for half of the wait or more.
fn holder(part: &RequestPart) -> String {
    let most = part.held.first().filter(|held| held.slow_ns.saturating_mul(2) >= part.slow_ns);
    let Some((held, place)) = most.and_then(|held| Some((held, held.place.value()?))) else {
        return String::new();
    };
    let of = reason(&held.call, &held.on, held.at, false);
    let of = if of.is_empty() { String::new() } else { format!(" ({of})") };
    format!(", whose holder is at {}{of}", words::located(place))
}

/// What requests do at a part, for so long: a predicate.
fn does(part: &RequestPart, time: &str, another: &str) -> String {
    let place = part.place.value().map(words::located);
    let at_place = place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default();
    let of = reason(&part.call, &part.on, part.at, false);
    let target = if of.is_empty() { String::new() } else { format!(" ({of})") };
    match part.at {
        RequestTime::Thread(State::Lock) => match place {
            Some(_) if part.place.value().is_some_and(StackFrame::is_safepoint) => {
                format!("wait {time} at a safepoint of the JVM, as for its garbage collector")
            }
            Some(place) => format!("wait {time} for the lock that {place} takes"),
            None => format!("wait {time} for a lock{target}"),
        },
        RequestTime::Peer | RequestTime::Thread(State::Network) => {
            let of = if of.is_empty() { "the network" } else { &of };
            format!("wait {time} for {of}{at_place}")
        }
        RequestTime::Thread(State::Disk) => format!("wait {time} for the disk{target}{at_place}"),
        RequestTime::Thread(State::Sleep) => format!("sleep {time}{at_place}{target}"),
        RequestTime::ReleasedLate => format!("wait {time} for a CPU before they begin"),
        RequestTime::Thread(State::Runqueue) => format!("wait {time} for a CPU"),
        RequestTime::Thread(State::Throttled) => format!("are held {time} by the CPU quota"),
        RequestTime::Thread(State::OtherWait) if matches!(part.on, Seen::Value(WaitTarget::OfTask(_))) => {
            format!("wait {time} for another task{at_place}{target}")
        }
        RequestTime::Thread(state) => format!("are {time} in {}{at_place}{target}", state.name()),
        RequestTime::OtherRequest => match (place, of.is_empty()) {
            (Some(place), true) => format!("wait {time} while their thread runs {place} for {another}"),
            (_, true) => format!("wait {time} while their thread is at {another}"),
            (_, false) => {
                format!("wait {time} while their thread is in {of}{at_place} for {another}")
            }
        },
        RequestTime::Unread => format!("wait {time} in the socket until a thread receives them"),
        RequestTime::NoThread => format!("wait {time} for a timer or in a queue of the program"),
        RequestTime::OnCpu => format!("run {time} on a CPU{at_place}"),
        RequestTime::Rest => format!("take {time} in smaller parts"),
    }
}

/// `400 requests, 133 per s: p50 390 us, p90 30.2 ms, …`, and what is in none of these figures.
fn summary(all: &Requests, run: &Run, look: Look) -> Vec<Line> {
    let latency = all.latency;
    let came = all.times + all.left_out;
    let rate = three_digits(came as f64 * 1e9 / all.followed_ns.unwrap_or(run.wall_ns).max(1) as f64);
    let drawn = match (all.followed_ns, all.left_out) {
        (Some(ns), _) => format!("; in the first {} only, as following them took too much", duration(ns)),
        (None, 0) => String::new(),
        (None, _) => format!("; of {} of them, drawn at random", count(all.sample())),
    };
    let of = all.unit_of.as_ref().map(|of| format!(" of {of}")).unwrap_or_default();
    let line = Line::new(look)
        .add(Ink::Bold, &counted(came, all.unit.name()))
        .add(Ink::Plain, &format!("{of}, {rate} per s{drawn}: "))
        .glued(Ink::Bold, &format!("p50 {}", duration(latency.p50_ns)));
    let others = [("p90", latency.p90_ns), ("p99", latency.p99_ns), ("max", latency.max_ns)];
    let line = others.into_iter().fold(line, |line, (name, ns)| {
        line.add(Ink::Plain, ", ").glued(Ink::Plain, &format!("{name} {}", duration(ns)))
    });
    let (under_way, abandoned) = match all.unit {
        Unit::Request => ("not answered yet", "closed without an answer"),
        Unit::Call => ("not ended yet", "left without a return"),
        Unit::Cycle | Unit::Operation => ("not ended yet", "left without an end"),
    };
    let left_out = [
        (all.under_way, under_way),
        (all.began_before, "from before"),
        (all.abandoned, abandoned),
        (all.not_followed, "not followed to their end"),
    ];
    let left_out: Vec<String> = left_out
        .into_iter()
        .filter(|(times, _)| *times > 0)
        .map(|(times, what)| format!("{} {what}", count(times)))
        .collect();
    let line = if left_out.is_empty() {
        line
    } else {
        line.add(Ink::Dim, &format!("; besides, {}", left_out.join(", ")))
    };
    let slow = match all.deadline.filter(|deadline| all.slow_ns_min > deadline.ns) {
        Some(deadline) => format!("mean of the {} over {}", count(all.slow), duration(deadline.ns)),
        None => format!("of the slowest {}, from {} on", count(all.slow), duration(all.slow_ns_min)),
    };
    let of = format!("typical: mean of the middle {}; slow: {slow}", count(all.typical));
    let mut lines = line.wrap(2);
    if let Some(ns) = all.following_ns.filter(|ns| ns.saturating_mul(FOLLOWING) >= latency.p50_ns) {
        let noun = all.unit.name();
        let text = format!("about {} of each {noun} is dwell's own: to follow it", duration(ns));
        lines.extend(Line::new(look).add(Ink::Bold, &text).wrap(2));
    }
    if all.elsewhere > 0 {
        let times = counted(all.elsewhere, "time");
        let text = format!("other processes use the same file, and came past there {times}");
        lines.extend(Line::new(look).add(Ink::Bold, &text).wrap(2));
    }
    if let Some(Deadline { ns, missed }) = all.deadline {
        let text = match missed {
            0 => format!("none of {} took longer than {}", count(all.sample()), duration(ns)),
            _ => format!("{} of {} took longer than {}", count(missed), count(all.sample()), duration(ns)),
        };
        lines.extend(Line::new(look).add(Ink::Bold, &text).wrap(2));
    }
    if let Seen::Value(lost @ 1..) = run.coverage.lost_events {
        let text = format!("{} lost: requests may be missing, and seem longer", counted(lost, "event"));
        lines.extend(Line::new(look).add(Ink::Warn, "! ").add(Ink::Plain, &text).wrap(2));
    }
    lines.extend(Line::new(look).add(Ink::Dim, &of).wrap(2));
    lines
}

pub(crate) fn ink(at: RequestTime) -> Ink {
    match at {
        RequestTime::OnCpu => Ink::Of(State::User),
        RequestTime::Peer => Ink::Of(State::Network),
        RequestTime::Thread(state) => Ink::Of(state),
        RequestTime::ReleasedLate
        | RequestTime::Unread
        | RequestTime::OtherRequest
        | RequestTime::NoThread
        | RequestTime::Rest => Ink::Of(State::Runqueue),
    }
}

pub(crate) fn at(at: RequestTime, unit: Unit) -> &'static str {
    match at {
        RequestTime::Thread(state) => words::state(state),
        RequestTime::OtherRequest => unit.another(),
        at => at.name(),
    }
}

/// `placed`: where it waited is known.
pub(crate) fn reason(call: &Seen<WaitCall>, on: &Seen<WaitTarget>, at: RequestTime, placed: bool) -> String {
    let (Seen::Value(call), Seen::Value(on)) = (call, on) else { return String::new() };
    match (call.syscall(), at) {
        // The address of a lock says less than the code that waits for it.
        (Some(name), RequestTime::Thread(State::Lock)) if placed => {
            words::target(on).map_or_else(|| name.to_string(), str::to_owned)
        }
        _ => words::reason(&Reason::Wait(call.clone(), on.clone())),
    }
}

/// `+29.1–30.4 ms`.
fn more(part: &RequestPart, look: Look) -> String {
    let [lo, hi] = part.more_ns;
    let range = |lo: i64, hi: i64| duration_range(lo.unsigned_abs(), hi.unsigned_abs(), look.dash());
    match (lo > 0, hi < 0) {
        (true, _) => format!("+{}", range(lo, hi)),
        (_, true) => format!("{} less", range(hi, lo)),
        _ => "about the same".to_owned(),
    }
}
