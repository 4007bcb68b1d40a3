//! Far ends of all tempers, in time that the test makes.

use super::*;
use crate::cli::StoreArgs;
use crate::cmd::push::make::Form;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use store::results::NewResult;

const MINUTE: u64 = 60_000;
/// When all begins.
const BEGIN: u64 = 1_800_000_000_000;

/// A clock that passes only where somebody sleeps.
struct Scaled(Cell<u64>);

impl Clock for Scaled {
    fn now_ms(&self) -> u64 {
        self.0.get()
    }

    fn sleep(&self, ms: u64) {
        self.0.set(self.0.get() + ms);
    }
}

/// What a far end says to items at a time.
type Says<'a> = Box<dyn FnMut(&[Item], u64) -> Answer + 'a>;

/// A far end that a test says the answers of.
struct Tempered<'a> {
    clock: &'a Scaled,
    many: bool,
    says: Says<'a>,
    /// When it was asked, and what it took how often.
    asked: Vec<u64>,
    took: BTreeMap<String, u32>,
}

impl Far for Tempered<'_> {
    fn takes_many(&self) -> bool {
        self.many
    }

    fn send(&mut self, _part: &str, items: &[Item], _within: Duration) -> Answer {
        let now = self.clock.now_ms();
        self.asked.push(now);
        // A request takes its time.
        self.clock.sleep(5);
        let answer = (self.says)(items, now);
        if matches!(answer, Answer::Accepted { .. }) {
            items.iter().for_each(|item| *self.took.entry(item.result.clone()).or_default() += 1);
        }
        answer
    }
}

struct Place {
    _dir: tempfile::TempDir,
    keeper: ResultStore,
    clock: Scaled,
}

impl Place {
    fn new(results: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("results.sqlite");
        let args = StoreArgs { store: Some(path), ..StoreArgs::default() };
        let place = Self { _dir: dir, keeper: ResultStore::new(&args), clock: Scaled(Cell::new(BEGIN)) };
        place.add(0..results);
        place
    }

    fn add(&self, numbers: std::ops::Range<u64>) {
        let older = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/older/2026-11-22-mutex.json");
        let text = std::fs::read_to_string(older).unwrap();
        let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
        self.keeper
            .at_length(|place| {
                let mut store = place.open(std::time::Instant::now() + Duration::from_secs(20))?;
                for number in numbers {
                    json["started_at"] = format!("2026-11-20T10:00:{number:02}Z").into();
                    store.put(&NewResult { json: json.to_string().into_bytes(), ..NewResult::default() })?;
                }
                Ok(())
            })
            .unwrap();
    }

    fn far<'a>(&'a self, many: bool, says: impl FnMut(&[Item], u64) -> Answer + 'a) -> Tempered<'a> {
        let (asked, took) = (Vec::new(), BTreeMap::new());
        Tempered { clock: &self.clock, many, says: Box::new(says), asked, took }
    }

    fn push(&self, far: &mut Tempered<'_>, length_ms: u64) -> (Pushed, Destination) {
        let maker = Maker { keeper: &self.keeper, form: Form::Rows(tables::Options::default()) };
        let (timeout, name) = (Duration::from_secs(10), "far".to_owned());
        let mut pusher = Pusher::new(&self.keeper, &maker, far, &self.clock, timeout, name).unwrap();
        let pushed = pusher.push(Duration::from_millis(length_ms)).unwrap();
        (pushed, pusher.destination().unwrap())
    }
}

fn later(after: Option<u64>) -> Answer {
    Answer::Later { why: "503".to_owned(), after: after.map(Duration::from_secs) }
}

#[test]
fn an_hour_without_the_far_end_is_waited_for_and_then_all_is_there_once() {
    let place = Place::new(50);
    let is_down = |now| now < BEGIN + 60 * MINUTE;
    let mut far = place.far(false, |_, now| if is_down(now) { later(None) } else { Answer::DONE });
    let (pushed, left) = place.push(&mut far, 120 * MINUTE);
    assert_eq!((pushed.sent, left.unsent, left.refused), (50, 0, 0));
    assert!(far.took.len() == 50 && far.took.values().all(|times| *times == 1));
    let meanwhile = far.asked.iter().filter(|at| is_down(**at)).count();
    assert!((10..40).contains(&meanwhile), "{meanwhile}");
    // It ends once all is there.
    assert!(place.clock.now_ms() < BEGIN + 70 * MINUTE);
}

#[test]
fn a_push_ends_in_time_and_the_next_one_goes_on() {
    let place = Place::new(5);
    let mut down = place.far(true, |_, _| later(None));
    let (pushed, left) = place.push(&mut down, 30_000);
    assert_eq!((pushed.sent, left.unsent, left.said.as_deref()), (0, 5, Some("503")));
    assert!((30_000..41_000).contains(&(place.clock.now_ms() - BEGIN)) || down.asked.len() < 9);
    // Only so much waits in batches, however long it is down.
    for more in 0..12 {
        place.add(5 + more..6 + more);
        place.clock.sleep(6 * MINUTE);
        assert!(place.push(&mut down, 1).1.batches <= BATCHES);
    }
    place.clock.sleep(60 * MINUTE);
    let mut up = place.far(true, |_, _| Answer::DONE);
    let (pushed, left) = place.push(&mut up, 30_000);
    assert_eq!((pushed.sent, left.unsent, left.said), (17, 0, None));
}

#[test]
fn what_the_far_end_asks_for_is_the_least_pause() {
    let place = Place::new(1);
    let mut first = true;
    let mut far =
        place.far(false, |_, _| if std::mem::take(&mut first) { later(Some(120)) } else { Answer::DONE });
    assert_eq!(place.push(&mut far, 10 * MINUTE).0.sent, 1);
    assert!(far.asked[1] - far.asked[0] >= 120_000, "{:?}", far.asked);
}

#[test]
fn one_that_is_refused_is_found_among_many() {
    let place = Place::new(50);
    let all = std::cell::RefCell::new(BTreeSet::new());
    let mut far = place.far(true, |items, _| {
        all.borrow_mut().extend(items.iter().map(|item| item.result.clone()));
        let bad = all.borrow().iter().next().cloned().unwrap();
        let is_bad = items.iter().any(|item| item.result == bad);
        if is_bad { Answer::Refused("400".to_owned()) } else { Answer::DONE }
    });
    let (pushed, left) = place.push(&mut far, 30_000);
    assert_eq!((pushed.sent, pushed.refused, left.unsent), (49, 1, 0));
    assert!(far.asked.len() < 20, "{}", far.asked.len());
    assert!(far.took.values().all(|times| *times == 1));
}

#[test]
fn one_at_which_the_far_end_fails_is_given_up_and_only_that_one() {
    let place = Place::new(20);
    let mut bad = None;
    let mut far = place.far(true, |items, _| {
        let bad = bad.get_or_insert_with(|| items[7].result.clone());
        if items.iter().any(|item| item.result == *bad) { later(None) } else { Answer::DONE }
    });
    let mut left = Destination::default();
    for hour in 0..40 {
        place.add(20 + hour..21 + hour);
        left = place.push(&mut far, 10 * MINUTE).1;
        place.clock.sleep(50 * MINUTE);
    }
    assert_eq!((left.sent, left.refused, left.unsent), (59, 1, 0));
    assert!(far.took.values().all(|times| *times == 1), "{:?}", far.took);
}

#[test]
fn a_far_end_that_takes_nothing_refuses_no_result() {
    let place = Place::new(3);
    let mut far = place.far(false, |_, _| Answer::Stop("401".to_owned()));
    for _ in 0..50 {
        let (pushed, left) = place.push(&mut far, MINUTE);
        assert_eq!((pushed.refused, left.refused, left.unsent), (0, 0, 3));
        place.clock.sleep(MINUTE);
    }
    assert_eq!(far.asked.len(), 50, "once a push");
    let mut fine = place.far(false, |_, _| Answer::DONE);
    assert_eq!(place.push(&mut fine, MINUTE).0.sent, 3);
}

#[test]
fn who_is_killed_is_waited_for_as_long_as_its_lease() {
    let place = Place::new(3);
    {
        let maker = Maker { keeper: &place.keeper, form: Form::Rows(tables::Options::default()) };
        let mut far = place.far(false, |_, _| Answer::DONE);
        let name = "far".to_owned();
        let killed =
            Pusher::new(&place.keeper, &maker, &mut far, &place.clock, Duration::from_secs(10), name)
                .unwrap();
        assert!(matches!(killed.next().unwrap(), Lease::Batch(_)));
    }
    let mut far = place.far(false, |_, _| Answer::DONE);
    assert_eq!(place.push(&mut far, MINUTE).0.sent, 3);
    assert!(far.asked[0] >= BEGIN + 20_000, "{:?}", far.asked);
    // The clock is set back by a day: nothing waits for it.
    place.add(3..4);
    place.clock.0.set(BEGIN - 24 * 60 * MINUTE);
    assert_eq!(place.push(&mut far, MINUTE).0.sent, 1);
}
