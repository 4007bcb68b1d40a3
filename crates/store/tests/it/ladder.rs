//! The kept ladder of a host, in real directories.

use dwell_store::ladder::{LadderLoadError, file_name, keep, kept};
use model::Seen;
use model::ladder::{Ladder, LadderRequest, Machine, SCHEMA_LADDER};
use model::recording::Host;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

fn host() -> Host {
    Host {
        name: "h".into(),
        kernel: "6.18.5".into(),
        arch: "x86_64".into(),
        cpus: 2,
        memory_bytes: Seen::Value(1 << 30),
        virtualisation: Seen::Absent,
    }
}

fn cpu() -> Seen<String> {
    Seen::Value("A processor at 3 GHz".into())
}

fn ladder(began: &str) -> Ladder {
    let unseen = || Seen::unseen("not stated");
    Ladder {
        schema: SCHEMA_LADDER.into(),
        host: host(),
        machine: Machine {
            cpu: cpu(),
            caches: Vec::new(),
            page_bytes: 4096,
            nodes: 1,
            cpus_allowed: vec![0],
            stated_mhz: Seen::Absent,
            max_mhz: Seen::Absent,
            governor: unseen(),
            clocksource: unseen(),
            memory_free_bytes: Seen::Value(1),
        },
        started_at: began.into(),
        origin: model::Origin::default(),
        dwell: None,
        took_ns: 1,
        asked: LadderRequest::default(),
        rungs: Vec::new(),
        curve: Seen::Absent,
        limits: Vec::new(),
        rungs_disturbed: 0,
    }
}

fn why(path: &Path) -> String {
    kept(path, &host(), &cpu()).unwrap_err().to_string()
}

#[test]
fn the_last_one_is_had_back_and_nothing_else_is_left() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("made/dwell").join(file_name("id", &cpu()));
    assert!(matches!(kept(&path, &host(), &cpu()), Err(LadderLoadError::None)));
    for began in ["2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"] {
        keep(&path, &ladder(began)).unwrap();
        assert_eq!(kept(&path, &host(), &cpu()).unwrap(), ladder(began));
    }
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn what_is_not_of_this_host_as_it_is_now_is_not_taken() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("ladder");
    let mut other = ladder("2026-11-20T00:00:00Z");
    other.machine.cpu = Seen::Value("Another".into());
    keep(&path, &other).unwrap();
    assert_eq!(why(&path), "the kept ladder is of another CPU: \"Another\"");
    other.machine.cpu = cpu();
    other.host.kernel = "6.1.0".into();
    keep(&path, &other).unwrap();
    assert_eq!(why(&path), "the kept ladder is of another kernel: \"6.1.0\"");
    fs::write(&path, r#"{"schema": "dwell.ladder/2", "all": "else"}"#).unwrap();
    assert_eq!(why(&path), "the kept ladder is of another version of dwell: \"dwell.ladder/2\"");
}

#[test]
fn what_is_damaged_or_no_ladder_is_said_with_its_place() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("ladder");
    keep(&path, &ladder("2026-11-20T00:00:00Z")).unwrap();
    let whole = fs::read(&path).unwrap();
    for part in [&whole[..whole.len() / 2], b"", b"[]", b"{\"schema\": \"dwell.ladder/1\"}"] {
        fs::write(&path, part).unwrap();
        assert!(why(&path).ends_with("ladder\" is not a dwell ladder"), "{}", why(&path));
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(why(&path).contains("cannot be read"), "{}", why(&path));
    let error = keep(&path, &ladder("")).unwrap_err().to_string();
    assert!(error.contains("cannot keep the ladder") && error.contains("--no-keep"), "{error}");
    assert_eq!(fs::read_dir(top.path()).unwrap().count(), 1, "what could not be put in place is gone");
}

/// One thread writes repeatedly, another reads: the file is always complete.
#[test]
fn a_reader_never_finds_half_a_file() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("ladder");
    let mut large = ladder("2026-11-20T00:00:00Z");
    large.limits = vec!["long".repeat(1000); 50];
    keep(&path, &large).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..200 {
                keep(&path, &large).unwrap();
            }
            over.store(true, Relaxed);
        });
        while !over.load(Relaxed) {
            assert_eq!(kept(&path, &host(), &cpu()).unwrap(), large);
        }
    });
}

#[test]
fn file_names_tell_hosts_apart_and_do_not_tell_who_they_are() {
    let id = "0123456789abcdef0123456789abcdef";
    let name = file_name(id, &cpu());
    assert_eq!(name, file_name(id, &cpu()));
    assert!(name.len() < id.len() && !name.contains(&id[..8]), "{name}");
    assert_ne!(name, file_name(&id.replace('0', "1"), &cpu()));
    assert_ne!(name, file_name(id, &Seen::unseen("not stated")));
}
