//! What is sent elsewhere: by one, by many, and by those that are killed.

use super::*;

const LEASE: u64 = 1_000;

fn item(row: &ResultRow) -> NewItem {
    NewItem { result: format!("{:032x}", row.seq), seq: row.seq, content: row.command.clone().into_bytes() }
}

/// Puts results into a batch, at most this many.
fn seal(store: &mut Store, name: &str, most: usize, now: u64) -> usize {
    let to = store.destination(name).unwrap();
    let rows = store.unsealed(to.sealed_to, most).unwrap();
    let Some(last) = rows.last() else { return 0 };
    let batch = NewBatch { part: "", items: rows.iter().map(item).collect() };
    assert!(store.seal(&to, last.seq, &[batch], &[], now).unwrap());
    rows.len()
}

fn leased(store: &mut Store, name: &str, now: u64) -> Lease {
    let id = store.destination(name).unwrap().id;
    store.lease(id, false, now, LEASE).unwrap()
}

fn batch(store: &mut Store, name: &str, now: u64) -> Batch {
    match leased(store, name, now) {
        Lease::Batch(batch) => batch,
        other => panic!("{other:?}"),
    }
}

fn names(batch: &Batch) -> Vec<String> {
    batch.items.iter().map(|item| String::from_utf8(item.content.clone()).unwrap()).collect()
}

fn with_results(place: &Place, count: u64) -> Store {
    let mut store = place.open();
    for number in 0..count {
        store.put(&result("run", &number.to_string(), number)).unwrap();
    }
    store
}

#[test]
fn each_destination_gets_each_result_once() {
    let place = Place::new();
    let mut store = with_results(&place, 5);
    assert_eq!(seal(&mut store, "a", 3, 10), 3);
    assert_eq!(seal(&mut store, "a", 3, 11), 2);
    assert_eq!(seal(&mut store, "a", 3, 12), 0);
    let first = batch(&mut store, "a", 20);
    assert_eq!(names(&first), ["0", "1", "2"]);
    let id = store.destination("a").unwrap().id;
    store.settle(id, &first, &first.items, Sent::Accepted(0, ""), 21, 0).unwrap();
    let second = batch(&mut store, "a", 22);
    store.settle(id, &second, &second.items[..1], Sent::Refused("it is too large"), 23, 0).unwrap();
    store.settle(id, &second, &second.items[1..], Sent::Accepted(4, "bad names"), 24, 0).unwrap();
    assert_eq!(leased(&mut store, "a", 25), Lease::Nothing);
    store.put(&result("run", "5", 5)).unwrap();
    let a = store.destination("a").unwrap();
    assert_eq!((a.unsent, a.waiting, a.batches, a.sent, a.refused, a.rejected), (1, 0, 0, 4, 1, 4));
    let why: Vec<_> = store.refusals(id, 9).unwrap().into_iter().map(|one| (one.result, one.why)).collect();
    assert_eq!(
        why,
        [
            (String::new(), "4 refused of what it took: bad names".to_owned()),
            (format!("{:032x}", 4), "it is too large".to_owned()),
        ]
    );
    // Another one has none of them; and a destination that is forgotten begins anew.
    assert_eq!(store.destination("b").unwrap().unsent, 6);
    assert!(store.forget("a", false).unwrap());
    let a = store.destination("a").unwrap();
    assert_eq!((a.unsent, a.sent, a.refused), (6, 0, 0));
    assert!(store.forget("a", true).unwrap() && !store.forget("a", true).unwrap());
    assert_eq!(store.destinations().unwrap().len(), 1);
}

#[test]
fn a_lease_is_of_one_and_ends() {
    const NOW: u64 = 3_600_100;
    let place = Place::new();
    let mut store = with_results(&place, 2);
    seal(&mut store, "a", 9, 10);
    let mine = batch(&mut store, "a", NOW);
    assert_eq!(leased(&mut store, "a", NOW + 1), Lease::Wait(NOW + LEASE));
    // Who looked at the clock before, and had to wait for the store then.
    assert_eq!(leased(&mut store, "a", NOW - 1), Lease::Wait(NOW + LEASE));
    let taken = batch(&mut store, "a", NOW + LEASE);
    // It is the same, whoever sends it.
    assert_eq!(taken, mine);
    // The clock was set back by an hour: its lease would be too long.
    assert_eq!(batch(&mut store, "a", 3), mine);
    // Who lost the lease has sent it all the same.
    let id = store.destination("a").unwrap().id;
    store.settle(id, &mine, &mine.items, Sent::Accepted(0, ""), 5, 0).unwrap();
    store.settle(id, &taken, &taken.items, Sent::Accepted(0, ""), 6, 0).unwrap();
    let a = store.destination("a").unwrap();
    assert_eq!((a.sent, a.waiting, a.batches), (2, 0, 0));
}

#[test]
fn a_destination_that_fails_pauses_and_what_never_failed_comes_first() {
    let place = Place::new();
    let mut store = with_results(&place, 2);
    seal(&mut store, "a", 1, 10);
    let bad = batch(&mut store, "a", 20);
    let id = store.destination("a").unwrap().id;
    store.postpone(id, &bad, 500, "503").unwrap();
    assert_eq!(leased(&mut store, "a", 499), Lease::Wait(500));
    seal(&mut store, "a", 1, 30);
    let fresh = store.lease(id, true, 500, LEASE).unwrap();
    assert!(matches!(&fresh, Lease::Batch(batch) if names(batch) == ["1"]), "{fresh:?}");
    assert_eq!(store.lease(id, true, 500, LEASE).unwrap(), Lease::Nothing);
    let a = store.destination("a").unwrap();
    assert_eq!((a.failures, a.said.as_deref()), (1, Some("503")));
    // A pause beyond any that begins now is of another clock.
    let other = batch(&mut store, "a", 500);
    assert_eq!((other.tries, names(&other)), (1, vec!["0".to_owned()]));
    store.postpone(id, &other, 500 + 2 * super::super::outbox::PAUSE_MAX_MS, "503").unwrap();
    assert!(matches!(leased(&mut store, "a", 501), Lease::Batch(batch) if batch.tries == 2));
    store.settle(id, &other, &[], Sent::Accepted(0, ""), 502, 0).unwrap();
    let a = store.destination("a").unwrap();
    assert_eq!((a.failures, a.said, a.accepted_ms), (0, None, 502));
}

#[test]
fn two_that_seal_at_once_make_one_batch_of_a_result() {
    let place = Place::new();
    let mut store = with_results(&place, 3);
    let seen = store.destination("a").unwrap();
    assert_eq!(seal(&mut store, "a", 9, 1), 3);
    let items = vec![NewItem { result: "x".into(), seq: 1, content: vec![] }];
    assert!(!store.seal(&seen, 3, &[NewBatch { part: "", items }], &[], 2).unwrap());
    // One number, twice: the one that waits already stays.
    store.put(&result("run", "again", 9)).unwrap();
    let seen = store.destination("a").unwrap();
    let items = vec![NewItem { result: format!("{:032x}", 1), seq: 4, content: vec![] }];
    assert!(store.seal(&seen, 4, &[NewBatch { part: "", items }], &[], 3).unwrap());
    assert_eq!(names(&batch(&mut store, "a", 4)), ["0", "1", "2"]);
    assert_eq!(store.destination("a").unwrap().batches, 1);
}

#[test]
fn what_the_limit_removes_before_it_was_sent_is_counted_and_what_is_sealed_stays() {
    let place = Place::new();
    let mut store = with_results(&place, 6);
    seal(&mut store, "a", 2, 1);
    let seen = store.destination("b").unwrap();
    let bad = Refusal { at_ms: 1, result: "1".into(), part: String::new(), why: "no time".into() };
    assert!(store.seal(&seen, 6, &[], &[bad], 1).unwrap());
    // Removed by its user: it is not wanted there.
    let first = one(&store, "last-5");
    store.remove(&[first]).unwrap();
    let removed = store.limit(1).unwrap();
    assert_eq!((removed.results, removed.unsent), (4, 3));
    let a = store.destination("a").unwrap();
    assert_eq!((a.evicted, a.unsent, a.waiting), (3, 2, 1));
    assert_eq!(names(&batch(&mut store, "a", 2)), ["1"]);
    let b = store.destination("b").unwrap();
    assert_eq!((b.evicted, b.refused, b.unsent), (0, 1, 0));
}

#[test]
fn refusals_are_bounded_and_all_counted() {
    let place = Place::new();
    let mut store = with_results(&place, 1);
    let seen = store.destination("a").unwrap();
    let refusal = |number: u64| Refusal {
        at_ms: number,
        result: number.to_string(),
        part: String::new(),
        why: "x".repeat(9000),
    };
    let unfit: Vec<_> = (0..1100).map(refusal).collect();
    assert!(store.seal(&seen, 1, &[], &unfit, 1).unwrap());
    let kept = store.refusals(seen.id, 5000).unwrap();
    assert_eq!((kept.len(), kept[0].at_ms, kept[0].why.len() <= TEXT_MAX), (1000, 1099, true));
    assert_eq!(store.destination("a").unwrap().refused, 1100);
}
