//! What makes requests take long: the parts of their time that slow ones have more, and those that
//! typical ones wait for most.
//!
//! The parts and their intervals are of `trace::requests`; what is concluded here is which of them
//! are worth a sentence, and which cause of the catalogue that is.

use super::causes::{Cause, peers};
use crate::calls::waits_for_room;
use model::finding::CauseName;
use model::peers::ConnectionRow;
use model::requests::{
    RequestFinding, RequestPart, RequestSpan, RequestTime, Requests, SlowOrTypical, Unit, Without,
};
use model::wait::{StackFrame, WaitCall, WaitTarget};
use model::{Ns, Run, Seen, State};
use std::cmp::Reverse;

/// Of what slow requests have more, from this part on, and of their whole time: where slow ones
/// take hardly longer than others, what they have more is worth no sentence.
const OF_MORE: f64 = 0.1;
const OF_SLOW: f64 = 0.1;
/// The part of the median from which a wait is told: less is within what the next change of the
/// load does.
const OF_MEDIAN: f64 = 0.2;
/// Waking a thread takes some ten microseconds, and is in most waits: less than this is no finding.
const LEAST_NS: Ns = 100_000;

/// Who asks a peer as often for one request as this asks it one after the other: a service may need
/// a few answers, of which each depends on the one before.
const SERIAL: u64 = 5;

/// Notes what makes the requests of a run take long.
pub(super) fn judge(run: &mut Run) {
    let connections = run.tables.connections.value().map_or(&[][..], Vec::as_slice);
    let found = run.tables.requests.value().map(|all| findings(all, connections));
    if let (Some(all), Some(found)) = (run.tables.requests.value_mut(), found) {
        all.findings = found;
    }
}

fn findings(all: &Requests, connections: &[ConnectionRow]) -> Vec<RequestFinding> {
    let more = |part: &RequestPart| part.slow_ns.saturating_sub(part.typical_ns);
    let with_waits =
        |part: &RequestPart| more(part) + part.awaited_slow_ns.saturating_sub(part.awaited_typical_ns);
    let all_more: Ns = all.parts.iter().map(more).sum();
    let parts = || all.parts.iter().enumerate().filter(|(_, part)| part.at != RequestTime::Rest);
    let slow_ns: Ns = all.parts.iter().map(|part| part.slow_ns).sum();
    let least = (OF_MORE * all_more as f64).max(OF_SLOW * slow_ns as f64).max(LEAST_NS as f64);
    let is_more = |part: &RequestPart| part.more_ns[0] > 0 && with_waits(part) as f64 >= least;
    let mut slow: Vec<_> = parts().filter(|(_, part)| is_more(part)).collect();
    // What p99 would be shortest without; where that is no part's alone, what they have most more.
    slow.sort_by_key(|(_, part)| {
        let saved_ns = saves(all, part.without).p99_ns;
        let is_much = saved_ns as f64 >= OF_SLOW * all.latency.p99_ns as f64;
        (Reverse(if is_much { saved_ns } else { 0 }), Reverse(with_waits(part)))
    });
    let is_waited = |part: &RequestPart| {
        let gain = all.latency.p50_ns.saturating_sub(part.without.p50_ns);
        all.unit == Unit::Request
            && part.at != RequestTime::OnCpu
            && gain >= LEAST_NS
            && gain as f64 >= OF_MEDIAN * all.latency.p50_ns as f64
    };
    let mut typical: Vec<_> = parts().filter(|(_, part)| is_waited(part)).collect();
    typical.sort_by_key(|(_, part)| part.without.p50_ns);
    let slow = slow.into_iter().map(|part| (SlowOrTypical::Slow, part));
    let typical = typical.into_iter().map(|part| (SlowOrTypical::Typical, part));
    let finding = |(of, (part, row)): (SlowOrTypical, (usize, &RequestPart))| {
        let turns = turns(all, row);
        let in_turn = turns >= SERIAL && is_asked(all, row, connections);
        RequestFinding { cause: cause(all, row, in_turn), of, part, turns, saves: saves(all, row.without) }
    };
    slow.chain(typical).map(finding).collect()
}

/// How often a request comes to this part: the median of the slowest, which are kept as they went.
fn turns(all: &Requests, part: &RequestPart) -> u64 {
    let is_its = |span: &&RequestSpan| (span.at, &span.call, &span.on) == (part.at, &part.call, &part.on);
    let mut turns: Vec<u64> =
        all.slowest.iter().map(|slow| slow.spans.iter().filter(is_its).count() as u64).collect();
    turns.sort_unstable();
    turns.get(turns.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

fn saves(all: &Requests, without: Without) -> Without {
    Without {
        p50_ns: all.latency.p50_ns.saturating_sub(without.p50_ns),
        p99_ns: all.latency.p99_ns.saturating_sub(without.p99_ns),
    }
}

/// Whether a peer is asked about as often: an answer may come in pieces. Of local sockets it is not
/// known how often, but a wait for room in one is no question.
fn is_asked(all: &Requests, part: &RequestPart, connections: &[ConnectionRow]) -> bool {
    let call = || part.call.value().and_then(WaitCall::syscall);
    match &part.on {
        Seen::Value(WaitTarget::Tcp(end)) => {
            let asked = peers::turns(connections, *end).times;
            asked.saturating_mul(2) >= all.times.saturating_mul(SERIAL)
        }
        Seen::Value(WaitTarget::Unix(_)) => !call().is_some_and(|call| waits_for_room(&call.name)),
        _ => false,
    }
}

/// The cause that such a part is a sign of. A peer's time is the peer's, and a sleep was asked for;
/// but who asks it again and again for one request can ask for all at once. Where others wait for
/// it longer than it takes itself, that is the cause.
fn cause(all: &Requests, part: &RequestPart, in_turn: bool) -> Seen<CauseName> {
    let is_awaited = part.awaited_slow_ns > part.slow_ns;
    let is_loop = all.unit == Unit::Request && all.answered_by == 1;
    let at = if is_awaited && is_loop { RequestTime::OtherRequest } else { part.at };
    let id = match at {
        RequestTime::Peer | RequestTime::Thread(State::Network | State::Pipe) if in_turn => "serial-requests",
        // What the JVM stops all threads for is no lock of the program's.
        RequestTime::Thread(State::Lock) if part.place.value().is_some_and(StackFrame::is_safepoint) => "",
        RequestTime::Thread(State::Lock) => "lock-contention",
        RequestTime::Thread(State::Disk) => "disk-latency",
        RequestTime::ReleasedLate | RequestTime::Thread(State::Runqueue) => "cpu-contention",
        RequestTime::Thread(State::Throttled) => "cpu-throttling",
        // One thread does everything; or others work, and are all at work.
        RequestTime::OtherRequest if is_loop => "blocked-event-loop",
        RequestTime::OtherRequest if all.handed_on > all.times / 2 => "pool-wait",
        RequestTime::Unread if all.answered_by > 1 => "pool-wait",
        RequestTime::OnCpu => "hot-code",
        RequestTime::Thread(_)
        | RequestTime::OtherRequest
        | RequestTime::Unread
        | RequestTime::NoThread
        | RequestTime::Peer
        | RequestTime::Rest => "",
    };
    let known = Cause::named(id);
    known.map_or(Seen::Absent, |cause| Seen::Value(cause.name.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::connection;
    use model::network::Endpoint;
    use model::peers::Turns;
    use model::requests::{Latency, SlowRequest};

    const MS: Ns = 1_000_000;

    fn part(at: RequestTime, typical_ns: Ns, slow_ns: Ns, without: (Ns, Ns)) -> RequestPart {
        RequestPart {
            at,
            call: Seen::Absent,
            on: Seen::Absent,
            place: Seen::Absent,
            mean_ns: typical_ns,
            typical_ns,
            slow_ns,
            more_ns: [slow_ns as i64 - typical_ns as i64 - 100, slow_ns as i64 - typical_ns as i64 + 100],
            awaited_typical_ns: 0,
            awaited_slow_ns: 0,
            without: Without { p50_ns: without.0, p99_ns: without.1 },
            held: Vec::new(),
        }
    }

    fn of(parts: Vec<RequestPart>) -> Vec<(SlowOrTypical, Option<String>, Ns, Ns)> {
        let latency = Latency { p50_ns: 10 * MS, p99_ns: 100 * MS, ..Latency::default() };
        let all = Requests { latency, parts, ..Requests::default() };
        let told = |found: RequestFinding| {
            let cause = found.cause.value().map(|cause| cause.id.to_string());
            (found.of, cause, found.saves.p50_ns, found.saves.p99_ns)
        };
        findings(&all, &[]).into_iter().map(told).collect()
    }

    #[test]
    fn what_slow_ones_have_more_comes_first_and_then_what_typical_ones_wait_for() {
        let lock = part(RequestTime::Thread(State::Lock), 0, 90 * MS, (10 * MS, 12 * MS));
        let peer = part(RequestTime::Peer, 8 * MS, 8 * MS, (2 * MS, 92 * MS));
        let own = part(RequestTime::OnCpu, 2 * MS, 2 * MS, (8 * MS, 98 * MS));
        let little = part(RequestTime::Thread(State::Disk), 0, 5 * MS, (10 * MS, 99 * MS));
        assert_eq!(
            of(vec![little, own, peer, lock]),
            [
                (SlowOrTypical::Slow, Some("lock-contention".to_owned()), 0, 88 * MS),
                (SlowOrTypical::Typical, None, 8 * MS, 8 * MS),
            ]
        );
    }

    #[test]
    fn who_asks_a_peer_again_and_again_for_one_request_asks_in_turn() {
        let end = "192.0.2.1:5432";
        let on = Seen::Value(WaitTarget::Tcp(Endpoint::read(end).expect("an end")));
        let peer = part(RequestTime::Peer, 8 * MS, 8 * MS, (2 * MS, 92 * MS));
        let peer = RequestPart { on: on.clone(), ..peer };
        let span = |at| RequestSpan {
            from_ns: 0,
            ns: MS,
            tid: Seen::Absent,
            at,
            call: Seen::Absent,
            on: on.clone(),
        };
        let request = |times| SlowRequest {
            began_ns: 0,
            latency_ns: MS,
            client: String::new(),
            kind: Seen::Absent,
            spans: (0..2 * times).map(|at| span([RequestTime::Peer, RequestTime::OnCpu][at % 2])).collect(),
        };
        let found = |times: [usize; 3], asked: u64| {
            let latency = Latency { p50_ns: 10 * MS, p99_ns: 100 * MS, ..Latency::default() };
            let slowest = times.map(request).into();
            let parts = vec![peer.clone()];
            let all = Requests { latency, parts, times: 100, slowest, ..Requests::default() };
            let turns = Some(Turns { times: asked, ..Turns::default() });
            let found = findings(&all, &[ConnectionRow { turns, ..connection(end) }]).remove(0);
            (found.turns, found.cause.value().map(|cause| cause.id.to_string()))
        };
        assert_eq!(found([25, 25, 1], 2500), (25, Some("serial-requests".to_owned())));
        assert_eq!(found([4, 4, 25], 2500), (4, None));
        assert_eq!(found([25, 25, 25], 100), (25, None), "one answer in pieces");
    }

    #[test]
    fn what_brings_p99_down_most_is_told_before_what_the_slowest_have_most_of() {
        let queued = part(RequestTime::Thread(State::Runqueue), 0, 60 * MS, (10 * MS, 80 * MS));
        let own = part(RequestTime::OnCpu, 2 * MS, 40 * MS, (10 * MS, 20 * MS));
        let told = of(vec![queued.clone(), own.clone()]);
        assert_eq!((told[0].1.as_deref(), told[0].3), (Some("hot-code"), 80 * MS));
        // Neither does alone.
        let [mut queued, mut own] = [queued, own];
        (queued.without.p99_ns, own.without.p99_ns) = (99 * MS, 95 * MS);
        assert_eq!(of(vec![queued, own])[0].1.as_deref(), Some("cpu-contention"));
    }

    #[test]
    fn a_cycle_is_held_up_by_no_event_loop_and_a_safepoint_is_no_lock() {
        let other = part(RequestTime::OtherRequest, 0, 90 * MS, (10 * MS, 12 * MS));
        let cause = |unit, part: &RequestPart| {
            let all = Requests { unit, answered_by: 1, ..Requests::default() };
            super::cause(&all, part, false).value().map(|cause| cause.id.to_string())
        };
        assert_eq!(cause(Unit::Request, &other).as_deref(), Some("blocked-event-loop"));
        assert_eq!(cause(Unit::Cycle, &other), None);
        let mut lock = part(RequestTime::Thread(State::Lock), 0, 90 * MS, (10 * MS, 12 * MS));
        assert_eq!(cause(Unit::Request, &lock).as_deref(), Some("lock-contention"));
        let frame = |function: &str| StackFrame {
            function: function.to_owned(),
            source: None,
            language: model::recording::Language::Native,
            kind: model::wait::FrameKind::Function,
        };
        lock.place = Seen::Value(frame("LinuxWaitBarrier::wait"));
        assert_eq!(cause(Unit::Request, &lock), None);
    }

    #[test]
    fn what_may_be_chance_is_no_finding() {
        let mut lock = part(RequestTime::Thread(State::Lock), 0, 90 * MS, (10 * MS, 12 * MS));
        lock.more_ns[0] = 0;
        assert_eq!(of(vec![lock]), []);
        assert_eq!(of(Vec::new()), []);
    }
}
