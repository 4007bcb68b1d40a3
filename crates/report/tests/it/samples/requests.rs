//! Windows on a server of which requests are known: slow ones wait for a lock, and in the other one
//! they do not.

use super::{MS, US, attached};
use model::finding::CauseName;
use model::requests::{
    HeldBy, KindPart, Latency, LatencyBin, RequestFinding, RequestKind, RequestPart, RequestSpan,
    RequestTime, Requests, SlowOrTypical, SlowRequest, Unit, Without,
};
use model::wait::{WaitCall, WaitTarget};
use model::{Ns, Run, Seen, State};

const LOCK: RequestTime = RequestTime::Thread(State::Lock);

/// Slow requests wait for a lock.
pub(crate) fn served() -> Run {
    let latency = Latency {
        mean_ns: 700 * US,
        p50_ns: 410 * US,
        p50_range_ns: Some([400 * US, 420 * US]),
        p90_ns: 900 * US,
        p99_ns: 22_600 * US,
        p99_range_ns: Some([20_000 * US, 24_000 * US]),
        max_ns: 30_800 * US,
    };
    let on = |place: Option<&str>, at, call, on| RequestPart {
        at,
        call,
        on,
        place: place.map_or(Seen::unseen("no stack"), |line| Seen::Value(line.into())),
        mean_ns: 0,
        typical_ns: 0,
        slow_ns: 0,
        more_ns: [0, 0],
        awaited_typical_ns: 0,
        awaited_slow_ns: 0,
        without: Without { p50_ns: 400 * US, p99_ns: 22_000 * US },
        held: Vec::new(),
    };
    let syscall = |name: &str| Seen::Value(WaitCall::Syscall(name.into()));
    let lock = RequestPart {
        mean_ns: 250 * US,
        slow_ns: 22_000 * US,
        more_ns: [19_000_000, 25_000_000],
        without: Without { p50_ns: 405 * US, p99_ns: 4_030 * US },
        held: vec![HeldBy {
            at: RequestTime::OtherRequest,
            call: syscall("recvfrom"),
            on: Seen::Value(WaitTarget::Timer(Seen::Absent)),
            place: Seen::Value("ask (api.py:20)".into()),
            slow_ns: 21_000 * US,
        }],
        ..on(Some("price (api.py:26)"), LOCK, syscall("futex"), Seen::Value(WaitTarget::Futex(Seen::Absent)))
    };
    let own = |mean_ns: Ns, at| RequestPart {
        mean_ns,
        typical_ns: mean_ns,
        slow_ns: mean_ns,
        more_ns: [-10_000, 12_000],
        ..on(None, at, Seen::Absent, Seen::Absent)
    };
    let parts = vec![lock, own(400 * US, RequestTime::OnCpu), own(50 * US, RequestTime::OtherRequest)];
    let span = |from_ns, ns, at| RequestSpan {
        from_ns,
        ns,
        tid: Seen::Value(50),
        at,
        call: Seen::Absent,
        on: Seen::Absent,
    };
    let slow = |began_ns, ns: Ns| SlowRequest {
        began_ns,
        latency_ns: ns,
        client: "127.0.0.1:50000".into(),
        kind: Seen::Value("GET /price/{n}".into()),
        spans: vec![
            span(0, 50 * US, RequestTime::Unread),
            span(50 * US, ns - 450 * US, LOCK),
            span(ns - 400 * US, 400 * US, RequestTime::OnCpu),
        ],
    };
    let kind = |kind: &str, times, slow| RequestKind {
        kind: Seen::Value(kind.into()),
        times,
        latency,
        slow,
        parts: vec![KindPart {
            at: if slow > 0 { LOCK } else { RequestTime::OnCpu },
            call: Seen::Absent,
            on: Seen::Absent,
            place: if slow > 0 { Seen::Value("price (api.py:26)".into()) } else { Seen::unseen("no stack") },
            mean_ns: 400 * US,
        }],
    };
    let mut run = attached();
    run.tables.requests = Seen::Value(Requests {
        unit: Unit::Request,
        unit_of: None,
        followed_ns: None,
        following_ns: None,
        elsewhere: 0,
        deadline: None,
        times: 6_369,
        began_before: 5,
        under_way: 2,
        abandoned: 0,
        not_followed: 0,
        left_out: 0,
        answered_by: 8,
        handed_on: 0,
        latency,
        bins: vec![LatencyBin { ns_min: 409_600, ns_max: 412_672, times: 6_369 }],
        typical: 1_274,
        slow: 63,
        slow_ns_min: 22_800 * US,
        parts,
        slowest: vec![slow(1_200 * MS, 30_800 * US), slow(300 * MS, 24_000 * US)],
        findings: vec![RequestFinding {
            cause: Seen::Value(CauseName::new("lock-contention", "contended locks")),
            of: SlowOrTypical::Slow,
            part: 0,
            turns: 1,
            saves: Without { p50_ns: 5 * US, p99_ns: 18_570 * US },
        }],
        kinds: vec![kind("GET /price/{n}", 369, 63), kind("GET /health", 6_000, 0)],
    });
    run
}

/// The same without that lock.
pub(crate) fn served_faster() -> Run {
    let mut run = served();
    if let Some(all) = run.tables.requests.value_mut() {
        all.latency.p99_ns = 4_000 * US;
        all.latency.p99_range_ns = Some([3_800 * US, 4_400 * US]);
        all.parts.remove(0);
        all.findings.clear();
        all.slowest.remove(0);
    }
    run
}
