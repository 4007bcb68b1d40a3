//! A store in a directory of its own: by one process, by many, by two versions.

use super::schema::STEPS;
use super::*;
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

mod outbox;

/// Stores of each version, as the first dwell of it wrote them: four results, a tag, a note.
const OLD: [&str; 2] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results-1.sqlite"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results-2.sqlite"),
];

/// What a later dwell may do.
const LATER: &[&str] =
    &[STEPS[0], STEPS[1], "ALTER TABLE results ADD COLUMN mood TEXT; CREATE TABLE moods (mood TEXT);"];

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("results.sqlite")
    }

    fn open(&self) -> Store {
        open(&self.path()).unwrap()
    }
}

fn owner() -> u32 {
    tempfile::tempfile().unwrap().metadata().unwrap().uid()
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn open(path: &Path) -> Result<Store, StoreError> {
    Store::open(path, owner(), true, soon())
}

fn read(path: &Path) -> Result<Option<Store>, StoreError> {
    Store::open_to_read(path, owner(), soon())
}

fn result(verb: &str, command: &str, at_s: u64) -> NewResult {
    NewResult {
        verb: verb.into(),
        command: command.into(),
        host: "here".into(),
        machine: "0123456789abcdef".into(),
        kernel: "6.1".into(),
        at_s,
        wall_ns: Some(1_500_000),
        verdict: Some("CPU-bound".into()),
        finding: Some("sync-writes".into()),
        schema: "dwell.run/1".into(),
        dwell: "0.1.0".into(),
        json: format!("{{\"command\":{command:?}}}").into_bytes(),
        recording: None,
    }
}

fn commands(store: &Store, filter: &Filter, most: usize) -> Vec<String> {
    store.list(filter, most).unwrap().0.into_iter().map(|row| row.command).collect()
}

fn one(store: &Store, name: &str) -> ResultRow {
    match store.find(&Named::read(name).unwrap()).unwrap() {
        Found::One(row) => *row,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn the_log_stays_short_however_many_processes_wrote_to_it() {
    let place = Place::new();
    let log = place.path().with_extension("sqlite-wal");
    // It cannot be packed.
    let large: String =
        (0_u32..200_000).map(|n| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 28) as u8)).collect();
    let lengths: Vec<u64> = (0..100)
        .map(|at| {
            place.open().put(&result("run", &format!("{at}"), at)).unwrap();
            let mut more = result("run", "large", at);
            more.json = format!("{{\"a\":\"{at}{large}\"}}").into_bytes();
            place.open().put(&more).unwrap();
            fs::metadata(&log).map_or(0, |log| log.len())
        })
        .collect();
    assert!(lengths.iter().max() > Some(&(100 << 10)), "there is a log: {lengths:?}");
    assert!(lengths.iter().max() < Some(&(2 << 20)), "{lengths:?}");
    let store = read(&place.path()).unwrap().unwrap();
    assert_eq!(store.list(&Filter::default(), 300).unwrap().0.len(), 200);
}

#[test]
fn what_was_kept_is_found_again() {
    let place = Place::new();
    let mut store = place.open();
    let ids: Vec<String> = ["ls", "make -j2", "true"]
        .iter()
        .zip(100..)
        .map(|(command, at)| store.put(&result("run", command, at)).unwrap().id)
        .collect();
    drop(store);
    let store = read(&place.path()).unwrap().unwrap();
    assert_eq!(commands(&store, &Filter::default(), 9), ["true", "make -j2", "ls"]);
    let (rows, more) = store.list(&Filter::default(), 2).unwrap();
    assert!(rows.len() == 2 && more);
    let made = one(&store, "last-1");
    let new = result("run", "make -j2", 101);
    assert_eq!(
        (&made.id, &made.verb, &made.host, &made.kernel, made.at_s, made.wall_ns),
        (&ids[1], &new.verb, &new.host, &new.kernel, 101, new.wall_ns)
    );
    assert_eq!((&made.verdict, &made.finding), (&new.verdict, &new.finding));
    assert_eq!(made.json_bytes, new.json.len() as u64);
    assert_eq!(store.json(&made).unwrap(), new.json);
    assert_eq!(one(&store, &ids[0]).command, "ls");
    assert_eq!(one(&store, &ids[0][..7].to_uppercase()).command, "ls");
    assert_eq!(store.find(&Named::Last(3)).unwrap(), Found::None);
    assert_eq!(store.find(&Named::Id("zzz".into())).unwrap(), Found::None);
    assert!(
        matches!(store.find(&Named::Id(String::new())).unwrap(), Found::Several(rows) if rows.len() == 3)
    );
    assert!(store.check().unwrap().is_empty());
}

#[test]
fn names_of_results_are_told_from_others() {
    assert_eq!(Named::read("last"), Some(Named::Last(0)));
    assert_eq!(Named::read("last-12"), Some(Named::Last(12)));
    assert_eq!(Named::read("0aF"), Some(Named::Id("0af".into())));
    for other in ["", "last-", "last--1", "last-+1", "last+1", "0a", "run.json", "./0af", "012345678", "xyz"]
    {
        assert_eq!(Named::read(other), None, "{other}");
    }
}

#[test]
fn a_list_has_what_was_asked_for() {
    let place = Place::new();
    let mut store = place.open();
    for (verb, command, at) in [("run", "ls -l", 10), ("compare", "ls | wc", 20), ("run", "MAKE all", 30)] {
        store.put(&result(verb, command, at)).unwrap();
    }
    let tagged = one(&store, "last-1");
    store.tag(&tagged, &["slow".into(), "keep".into()], &[]).unwrap();
    let asked = |filter: Filter| commands(&store, &filter, 9);
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(asked(Filter { verb: some("run"), ..Filter::default() }), ["MAKE all", "ls -l"]);
    assert_eq!(asked(Filter { command: some("make"), ..Filter::default() }), ["MAKE all"]);
    assert_eq!(asked(Filter { since_s: Some(20), ..Filter::default() }), ["MAKE all", "ls | wc"]);
    assert_eq!(asked(Filter { tag: some("keep"), ..Filter::default() }), ["ls | wc"]);
    let both = Filter { verb: some("run"), command: some("ls"), ..Filter::default() };
    assert_eq!(asked(both), ["ls -l"]);
    assert!(asked(Filter { host: some("elsewhere"), ..Filter::default() }).is_empty());
    // What stands in a filter is text, and nothing else.
    assert!(asked(Filter { command: some("' OR 1 --"), ..Filter::default() }).is_empty());
}

#[test]
fn tags_and_notes_come_and_go() {
    let place = Place::new();
    let mut store = place.open();
    store.put(&result("run", "ls", 1)).unwrap();
    let row = one(&store, "last");
    store.tag(&row, &["b".into(), "a".into(), "a".into()], &[]).unwrap();
    store.note(&row, Some("the first one")).unwrap();
    let now = one(&store, "last");
    assert_eq!((now.tags, now.note.as_deref()), (vec!["a".into(), "b".into()], Some("the first one")));
    store.tag(&row, &[], &["a".into(), "none".into()]).unwrap();
    store.note(&row, None).unwrap();
    let now = one(&store, "last");
    assert_eq!((now.tags, now.note), (vec!["b".into()], None));
    assert_eq!(store.remove(std::slice::from_ref(&row)).unwrap().results, 1);
    assert_eq!(store.counted().unwrap().tagged, 0);
    // A tag of what is gone is none.
    store.tag(&row, &["late".into()], &[]).unwrap();
    assert_eq!(store.counted().unwrap().tagged, 0);
}

/// The last result has the largest key, and after it is gone the next one has another.
#[test]
fn no_key_is_given_twice() {
    let place = Place::new();
    let mut store = place.open();
    let mut keys = BTreeSet::new();
    for at in 0..4 {
        store.put(&result("run", "make", at)).unwrap();
        let row = one(&store, "last");
        assert!(keys.insert(row.seq), "{} again", row.seq);
        store.remove(&[row]).unwrap();
    }
    // Another dwell counts from what is there.
    store.put(&result("run", "make", 9)).unwrap();
    store.db.execute("UPDATE results SET seq = 70", []).unwrap();
    store.put(&result("run", "make", 10)).unwrap();
    assert_eq!(one(&store, "last").seq, 71);
}

#[test]
fn many_write_at_once_and_each_result_is_there_once() {
    // A few that come often, and sixty that all make the store.
    for (writers, times) in [(4, 15), (60, 1)] {
        written_at_once(writers, times);
    }
}

fn written_at_once(writers: usize, times: usize) {
    let place = Place::new();
    let path = place.path();
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let path = &path;
            scope.spawn(move || {
                for number in 0..times {
                    // A process of its own would open it each time.
                    open(path).unwrap().put(&result("run", &format!("{writer}-{number}"), 1)).unwrap();
                }
            });
        }
    });
    let store = read(&path).unwrap().unwrap();
    let found = commands(&store, &Filter::default(), 99);
    let expected: BTreeSet<String> =
        (0..writers).flat_map(|writer| (0..times).map(move |number| format!("{writer}-{number}"))).collect();
    assert_eq!(found.len(), 60);
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
    assert!(store.check().unwrap().is_empty());
}

#[test]
fn it_is_for_its_user_alone() {
    let place = Place::new();
    drop(place.open().put(&result("run", "ls", 1)).unwrap());
    for entry in fs::read_dir(place.0.path()).unwrap().flatten() {
        assert_eq!(entry.metadata().unwrap().mode() & 0o777, 0o600, "{:?}", entry.path());
    }
    fs::set_permissions(place.path(), PermissionsExt::from_mode(0o622)).unwrap();
    assert!(open(&place.path()).unwrap_err().to_string().contains("its mode is 622"));
    assert!(read(&place.path()).unwrap_err().to_string().contains("its mode is 622"));
    fs::set_permissions(place.path(), PermissionsExt::from_mode(0o600)).unwrap();
    let other = Store::open(&place.path(), owner() + 1, true, soon()).unwrap_err();
    assert!(other.to_string().contains("it belongs to the user"), "{other}");
    let link = place.0.path().join("link");
    symlink(place.path(), &link).unwrap();
    assert!(open(&link).unwrap_err().to_string().contains("no regular file"));
}

#[test]
fn what_stands_beside_a_store_is_not_waited_for_and_leads_nowhere() {
    let place = Place::new();
    drop(place.open());
    for end in ["-journal", "-wal", "-shm"] {
        let beside = place.0.path().join(format!("results.sqlite{end}"));
        let _ = fs::remove_file(&beside);
        let made = std::process::Command::new("mkfifo").arg(&beside).status().unwrap();
        assert!(made.success());
        // Opening it in the usual way would wait for a writer for ever.
        let said = Store::open_to_read(&place.path(), owner(), soon()).unwrap_err().to_string();
        assert!(said.contains(end) && said.contains("no regular file"), "{said}");
        assert!(open(&place.path()).is_err());
        fs::remove_file(&beside).unwrap();
    }
    // The names of results come from a store that may be of others.
    place.open().put(&result("run", "ls", 1)).unwrap();
    Connection::open(place.path())
        .unwrap()
        .execute("UPDATE results SET id = 'ab\u{1b}[31m/../c'", [])
        .unwrap();
    let store = place.open();
    assert_eq!(one(&store, "last").id, "ab31mc");
    let recordings = store.recordings();
    for id in ["../../elsewhere", "/elsewhere", "..", "12ab34cd"] {
        assert_eq!(store.recording(id).parent(), Some(recordings.as_path()), "{id}");
    }
    assert!(store.recording("12ab34cd").ends_with("12ab34cd.dwell.gz"));
}

#[test]
fn a_newer_store_is_read_and_never_written() {
    let place = Place::new();
    let mut store = place.open();
    store.put(&result("run", "of this version", 1)).unwrap();
    // The older one has it open meanwhile.
    let mut later = Store::open_with(&place.path(), owner(), true, soon(), LATER).unwrap();
    assert_eq!(later.version(), SCHEMA + 1);
    later.put(&result("run", "of a later version", 2)).unwrap();
    let row = one(&store, "last");
    let refused = [
        store.put(&result("run", "late", 3)).unwrap_err(),
        store.tag(&row, &["x".into()], &[]).unwrap_err(),
        store.note(&row, Some("x")).unwrap_err(),
        store.remove(std::slice::from_ref(&row)).unwrap_err(),
        store.limit(0).unwrap_err(),
    ];
    for error in refused {
        assert!(matches!(error, StoreError::Newer { version: 3, .. }), "{error}");
    }
    assert_eq!(open(&place.path()).unwrap().put(&result("run", "late", 3)).unwrap_err().to_string(), {
        StoreError::Newer { path: place.path(), version: 3 }.to_string()
    });
    let store = read(&place.path()).unwrap().unwrap();
    assert!(store.is_newer());
    assert_eq!(commands(&store, &Filter::default(), 9), ["of a later version", "of this version"]);
    assert_eq!(store.json(&one(&store, "last")).unwrap(), result("run", "of a later version", 2).json);
}

#[test]
fn stores_of_earlier_versions_are_read_migrated_and_written() {
    for (file, version) in OLD.into_iter().zip(1..) {
        let place = Place::new();
        fs::copy(file, place.path()).unwrap();
        fs::set_permissions(place.path(), PermissionsExt::from_mode(0o600)).unwrap();
        let store = read(&place.path()).unwrap().unwrap();
        assert_eq!(store.version(), version);
        let old = ["ladder --quick", "sleep 1", "compare 'a' 'b'", "ls -lR /usr"];
        assert_eq!(commands(&store, &Filter::default(), 9), old);
        assert_eq!(store.destinations().unwrap(), []);
        let first = one(&store, "last-3");
        assert_eq!(
            (first.tags.as_slice(), first.note.as_deref()),
            (["kept".to_owned()].as_slice(), Some("cold"))
        );
        assert_eq!(store.json(&first).unwrap(), result("run", "ls -lR /usr", 1).json);
        drop(store);
        let mut store = Store::open_with(&place.path(), owner(), true, soon(), LATER).unwrap();
        store.put(&result("run", "new", 9)).unwrap();
        assert_eq!(commands(&store, &Filter::default(), 1), ["new"]);
        assert_eq!(commands(&store, &Filter::default(), 9)[1..], old);
        assert!(store.check().unwrap().is_empty());
        assert_eq!(store.destination("there").unwrap().unsent, 5);
    }
}

/// Writes the file of the test above. With a new version it gets another name, and the one before
/// stays: `cargo test -p dwell-store write_a_store_of_this_version -- --ignored`.
#[test]
#[ignore = "writes a file of the repository"]
fn write_a_store_of_this_version() {
    let path = Path::new(OLD[0]).with_file_name(format!("results-{SCHEMA}.sqlite"));
    assert!(!path.exists(), "{path:?} is what an earlier dwell wrote");
    let place = Place::new();
    let mut store = Store::open(&place.path(), owner(), false, soon()).unwrap();
    for (verb, command, at) in [
        ("run", "ls -lR /usr", 1),
        ("compare", "compare 'a' 'b'", 2),
        ("run", "sleep 1", 3),
        ("ladder", "ladder --quick", 4),
    ] {
        store.put(&result(verb, command, at)).unwrap();
    }
    let first = one(&store, "last-3");
    store.tag(&first, &["kept".into()], &[]).unwrap();
    store.note(&first, Some("cold")).unwrap();
    drop(store);
    fs::copy(place.path(), path).unwrap();
}

#[test]
fn what_is_no_store_is_left_as_it_is() {
    let place = Place::new();
    let text = place.0.path().canonicalize().unwrap().join("text");
    fs::write(&text, "a text of mine\n".repeat(99)).unwrap();
    let others = place.0.path().canonicalize().unwrap().join("others");
    Connection::open(&others).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    for path in [&text, &others] {
        let before = fs::read(path).unwrap();
        assert!(matches!(open(path).unwrap_err(), StoreError::NotAStore(_)), "{path:?}");
        assert!(matches!(read(path).unwrap_err(), StoreError::NotAStore(_)), "{path:?}");
        assert_eq!(fs::read(path).unwrap(), before);
        assert!(!is_store(path));
    }
    assert!(read(&place.path()).unwrap().is_none());
    drop(place.open().put(&result("run", "ls", 1)).unwrap());
    assert!(is_store(&place.path()) && is_store(&place.path().with_extension("sqlite-wal")));
}

#[test]
fn damage_is_told_and_what_is_whole_is_read() {
    let place = Place::new();
    let mut store = place.open();
    for number in 0..40_u64 {
        let json: Vec<u8> =
            (0..4000_u64).map(|at| (((at * at + number) * 2_654_435_761) >> 13) as u8).collect();
        store.put(&NewResult { json, ..result("run", "x", number) }).unwrap();
    }
    store.shrink();
    drop(store);
    let mut bytes = fs::read(place.path()).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 4096].fill(0xa5);
    fs::write(place.path(), &bytes).unwrap();
    let store = read(&place.path()).unwrap().unwrap();
    let wrong = store.check().unwrap_or_else(|error| vec![error.to_string()]);
    assert!(!wrong.is_empty());
    // Cut within its first page there is nothing left.
    fs::write(place.path(), &bytes[..200]).unwrap();
    assert!(read(&place.path()).is_err() && open(&place.path()).is_err());
}

#[test]
fn the_oldest_without_tags_go_when_there_is_too_much() {
    let place = Place::new();
    let mut store = place.open();
    let large = |number: u64| {
        let mut state = number;
        let json = (0..20_000).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u8
        });
        NewResult { json: json.collect(), ..result("run", &number.to_string(), number) }
    };
    for number in 0..20 {
        assert!(store.put(&large(number)).unwrap().removed.is_none());
    }
    let first = one(&store, "last-19");
    store.tag(&first, &["baseline".into()], &[]).unwrap();
    let removed = store.limit(300_000).unwrap();
    let left = commands(&store, &Filter::default(), 99);
    assert_eq!(removed.results, 20 - left.len() as u64);
    assert!(left.len() > 5 && left.len() < 15, "{left:?}");
    assert_eq!((left[0].as_str(), left[left.len() - 1].as_str()), ("19", "0"));
    let size = store.counted().unwrap();
    assert!(size.used_bytes <= 300_000 && size.limit_bytes == 300_000 && size.tagged == 1, "{size:?}");
    assert!(place.path().metadata().unwrap().len() <= 300_000, "the disk has its room again");
    // From now on each result makes room for itself.
    let put: Vec<_> = (20..30).map(|number| store.put(&large(number)).unwrap()).collect();
    assert!(put.iter().any(|put| put.removed.is_some()));
    assert!(store.counted().unwrap().used_bytes <= 300_000);
    assert_eq!(commands(&store, &Filter::default(), 1), ["29"]);
    // With tags on all of them nothing is removed, and the caller is told.
    for row in store.list(&Filter::default(), 99).unwrap().0 {
        store.tag(&row, &["mine".into()], &[]).unwrap();
    }
    let rows = store.counted().unwrap().results;
    let put = store.put(&large(30)).unwrap();
    assert!(put.removed.is_none() && put.over.is_some(), "{put:?}");
    assert_eq!(store.counted().unwrap().results, rows + 1);
}

#[test]
fn a_recording_lies_beside_and_goes_with_its_result() {
    let place = Place::new();
    let recording = place.0.path().join("run.dwell");
    fs::write(&recording, "an event\n".repeat(5000)).unwrap();
    let mut store = place.open();
    let kept = NewResult { recording: Some(recording.clone()), ..result("run", "ls", 1) };
    let put = store.put(&kept).unwrap();
    assert!(put.without_recording.is_none());
    let row = one(&store, "last");
    let file = store.recording(&row.id);
    let found = file.metadata().unwrap();
    assert_eq!((found.len(), found.mode() & 0o777), (row.recording_bytes, 0o600));
    assert!(row.recording_bytes > 0 && row.recording_bytes < 5000);
    let mut text = String::new();
    std::io::Read::read_to_string(&mut unpacked(&file).unwrap(), &mut text).unwrap();
    assert_eq!(text, "an event\n".repeat(5000));
    assert!(store.counted().unwrap().recordings_bytes == row.recording_bytes);
    store.remove(&[row]).unwrap();
    assert!(!file.exists());
    // What cannot be kept does not keep the result from it.
    fs::remove_file(&recording).unwrap();
    assert!(store.put(&kept).unwrap().without_recording.is_some());
    assert_eq!(one(&store, "last").recording_bytes, 0);
}

#[test]
fn a_recording_that_was_changed_or_has_gone_is_told() {
    let place = Place::new();
    let recording = place.0.path().join("run.dwell");
    fs::write(&recording, "an event\n".repeat(5000)).unwrap();
    let mut store = place.open();
    store.put(&NewResult { recording: Some(recording), ..result("run", "ls", 1) }).unwrap();
    let row = one(&store, "last");
    let file = store.recording(&row.id);
    let whole = fs::read(&file).unwrap();
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    for content in [changed, whole[..whole.len() - 1].to_vec(), Vec::new()] {
        fs::write(&file, content).unwrap();
        let wrong = store.check().unwrap();
        assert!(wrong.len() == 1 && wrong[0].contains(&row.id), "{wrong:?}");
    }
    fs::remove_file(&file).unwrap();
    assert!(store.check().unwrap()[0].contains("recording"));
}

#[test]
fn the_last_ladder_of_a_machine_is_found_by_its_kind() {
    let place = Place::new();
    let mut store = place.open();
    for (machine, verdict, command) in
        [("m", "full", "1"), ("m", "quick", "2"), ("n", "quick", "3"), ("m", "part", "4"), ("n", "part", "5")]
    {
        let verdict = Some(verdict.to_owned());
        let machine = machine.to_owned();
        store.put(&NewResult { machine, verdict, ..result("ladder", command, 1) }).unwrap();
    }
    let last = |machine, kind| store.ladder(machine, kind).unwrap().map(|row| row.command);
    assert_eq!((last("m", "full").as_deref(), last("m", "quick").as_deref()), (Some("1"), Some("2")));
    assert_eq!(
        (last("n", "quick").as_deref(), last("n", "full"), last("o", "quick")),
        (Some("3"), None, None)
    );
}

#[test]
fn a_lock_is_waited_for_until_its_time_is_over() {
    let place = Place::new();
    drop(place.open());
    let other = Connection::open(place.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut store = Store::open(&place.path(), owner(), true, Instant::now()).unwrap();
    assert!(matches!(store.put(&result("run", "ls", 1)).unwrap_err(), StoreError::Busy(_)));
    other.execute_batch("COMMIT").unwrap();
    store.put(&result("run", "ls", 1)).unwrap();
}

#[test]
fn long_texts_are_cut() {
    let place = Place::new();
    let mut store = place.open();
    store.put(&result("run", &"ü".repeat(10_000), 1)).unwrap();
    let command = one(&store, "last").command;
    assert!(command.len() <= TEXT_MAX && command.ends_with("ü…"));
}

#[test]
fn a_forged_store_makes_nobody_hold_large_values() {
    let place = Place::new();
    let mut store = place.open();
    store.put(&result("run", "true", 1)).unwrap();
    drop(store);
    let forge = |sql: &str| Connection::open(place.path()).unwrap().execute_batch(sql).unwrap();
    // A text of a megabyte is cut, one of 100 MB is not read at all.
    forge("UPDATE results SET note = printf('%.*c', 1000000, 'x')");
    let (rows, _) = read(&place.path()).unwrap().unwrap().list(&Filter::default(), 9).unwrap();
    assert!(rows[0].note.as_ref().is_some_and(|note| note.len() <= TEXT_MAX && note.ends_with("x…")));
    forge("UPDATE results SET note = NULL; UPDATE contents SET packed = zeroblob(100000000)");
    let store = read(&place.path()).unwrap().unwrap();
    let (rows, _) = store.list(&Filter::default(), 9).unwrap();
    let told = store.json(&rows[0]).unwrap_err();
    assert!(matches!(&told, StoreError::Damaged { said, .. } if said.contains("too big")), "{told:?}");
    assert!(matches!(store.check(), Err(StoreError::Damaged { .. })));
    // Nor does a statement of its schema reach further.
    for beyond in ["ATTACH ':memory:' AS other", "SELECT length(zeroblob(100000000))"] {
        assert!(store.db.execute_batch(beyond).is_err(), "{beyond}");
    }
}
