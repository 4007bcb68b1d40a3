//! Rows of requests of two windows.

use super::*;
use model::State;
use model::network::Endpoint;
use model::requests::RequestTime;
use model::wait::WaitCall;

const LOCK: RequestTime = RequestTime::Thread(State::Lock);

fn part(at: RequestTime, mean_ns: Ns) -> RequestPart {
    RequestPart {
        at,
        call: Seen::Absent,
        on: Seen::Absent,
        place: Seen::Absent,
        mean_ns,
        awaited_typical_ns: 0,
        awaited_slow_ns: 0,
        typical_ns: 0,
        slow_ns: 0,
        more_ns: [0, 0],
        without: Default::default(),
        held: Vec::new(),
    }
}

fn placed(at: RequestTime, place: &str, mean_ns: Ns) -> RequestPart {
    RequestPart { place: Seen::Value(place.into()), ..part(at, mean_ns) }
}

fn waits(on: WaitTarget, of: RequestPart) -> RequestPart {
    let call = Seen::Value(WaitCall::Syscall("futex".into()));
    RequestPart { call, on: Seen::Value(on), ..of }
}

/// Place, A and B.
fn rows(a: &[RequestPart], b: &[RequestPart]) -> Vec<(String, Ns, Ns)> {
    let function = |part: &PartChange| part.place.value().map(|frame| frame.function.clone());
    let found = parts(a, b);
    found.iter().map(|part| (function(part).unwrap_or_default(), part.a_ns, part.b_ns)).collect()
}

fn row(place: &str, a_ns: Ns, b_ns: Ns) -> (String, Ns, Ns) {
    (place.to_owned(), a_ns, b_ns)
}

#[test]
fn parts_of_both_are_matched_and_what_differs_most_is_first() {
    let a = [part(RequestTime::OnCpu, 10), part(RequestTime::Peer, 70)];
    let b = [part(RequestTime::Peer, 20), part(RequestTime::Unread, 5), part(RequestTime::OnCpu, 11)];
    let found = parts(&a, &b);
    let rows: Vec<_> = found.iter().map(|part| (part.at, part.a_ns, part.b_ns)).collect();
    let peer = (RequestTime::Peer, 70, 20);
    assert_eq!(rows, [peer, (RequestTime::Unread, 0, 5), (RequestTime::OnCpu, 10, 11)]);
}

/// What was mended is not found under the name of what is left.
#[test]
fn what_is_at_another_place_is_another_row() {
    let another = |place, ns| placed(RequestTime::OtherRequest, place, ns);
    let found = rows(
        &[another("checkPassword (app.js:12)", 567)],
        &[another("topCustomers (app.js:16)", 331), part(RequestTime::OtherRequest, 40)],
    );
    assert_eq!(found, [row("checkPassword", 567, 0), row("topCustomers", 0, 331), row("", 0, 40)]);
}

#[test]
fn lines_that_an_edit_moved_are_the_same_row() {
    let on_cpu = |place, ns| placed(RequestTime::OnCpu, place, ns);
    let found = rows(
        &[on_cpu("work (app.py:10)", 100), on_cpu("work (app.py:30)", 7), on_cpu("rest (app.py:50)", 3)],
        &[on_cpu("work (app.py:32)", 8), on_cpu("work (app.py:12)", 50), on_cpu("rest (app.py:50)", 3)],
    );
    assert_eq!(found, [row("work", 100, 50), row("work", 7, 8), row("rest", 3, 3)]);
}

#[test]
fn addresses_of_memory_tell_no_rows_apart() {
    let lock = |address, of| waits(WaitTarget::Futex(Seen::Value(address)), of);
    let found = rows(
        &[lock(1, part(LOCK, 5)), lock(2, part(LOCK, 6)), lock(3, placed(LOCK, "take (a.c:3)", 9))],
        &[lock(4, part(LOCK, 8)), lock(5, placed(LOCK, "take (a.c:3)", 1))],
    );
    assert_eq!(found, [row("take", 9, 1), row("", 11, 8)]);
}

#[test]
fn a_place_that_one_side_lacks_is_that_of_the_peer_by_its_name() {
    let asks = |of| waits(WaitTarget::Tcp(Endpoint::read("127.0.0.1:5432").unwrap()), of);
    let found = rows(
        &[asks(placed(RequestTime::Peer, "price (a.c:3)", 9))],
        &[asks(part(RequestTime::Peer, 4)), part(RequestTime::OnCpu, 2)],
    );
    assert_eq!(found, [row("price", 9, 4), row("", 0, 2)]);
}

#[test]
fn the_interval_of_a_change_is_as_wide_as_both_are_uncertain() {
    let told = change((100, Some([90, 120])), (150, Some([110, 155])));
    // sqrt(40² + 20²) below, sqrt(5² + 10²) above.
    assert_eq!(told.change_ns, Some([5, 61]));
    assert_eq!(change((7, Some([7, 7])), (7, Some([7, 7]))).change_ns, Some([0, 0]));
    assert_eq!(change((7, None), (9, Some([7, 9]))).change_ns, None, "too few to tell");
}

#[test]
fn a_quantile_is_between_bins() {
    let bins: Vec<LatencyBin> =
        (0..1000).map(|ns| LatencyBin { ns_min: ns, ns_max: ns + 1, times: 1 }).collect();
    let [lo, hi] = range(&bins, 0.9).expect("there are enough");
    assert!((875..890).contains(&lo) && (910..925).contains(&hi), "{lo} to {hi}");
    assert_eq!(range(&bins[..20], 0.9), None, "the values give no bound above");
    assert_eq!(range(&[], 0.9), None);
}

#[test]
fn kinds_that_changed_by_most_time_are_first() {
    let kind = |kind: &str, times, mean_ns| RequestKind {
        kind: Seen::Value(kind.to_owned()),
        times,
        latency: Latency { mean_ns, p50_ns: mean_ns, p99_ns: 2 * mean_ns, ..Latency::default() },
        slow: 0,
        parts: Vec::new(),
    };
    let a = [kind("GET /order/{n}", 1000, 50), kind("GET /login/{id}", 30, 20), kind("GET /old", 1, 9)];
    let b = [kind("GET /order/{n}", 1000, 49), kind("GET /login/{id}", 30, 900), kind("GET /new", 1, 8)];
    let told: Vec<_> = kinds(&a, &b)
        .into_iter()
        .map(|of| (of.kind.value().unwrap().clone(), of.times, [of.p99.a_ns, of.p99.b_ns]))
        .collect();
    let row = |kind: &str, times, p99| (kind.to_owned(), times, p99);
    assert_eq!(
        told,
        [
            row("GET /login/{id}", [30, 30], [40, 1800]),
            row("GET /order/{n}", [1000, 1000], [100, 98]),
            row("GET /old", [1, 0], [18, 0]),
            row("GET /new", [0, 1], [0, 16]),
        ]
    );
    assert!(kinds(&[], &b).is_empty(), "one side read none");
}
