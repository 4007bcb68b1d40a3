//! Programs that live already, and what holds of every window on them.

use crate::support::{self, MS, Told};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A machine that others use is sometimes too busy to tell; it is asked this often.
pub(crate) const TRIES: u32 = 5;

/// A living program, gone with the test.
pub(crate) struct Alive(pub(crate) Child);

impl Alive {
    /// Starts it and waits until it says, with a line, that it is where it is to be.
    pub(crate) fn start(program: &str, args: &[&str]) -> Self {
        Self::launch(Command::new(program).args(args))
    }

    /// The same with a command that becomes the program.
    pub(crate) fn launch(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "ready", "{command:?}");
        // What it says, it says before it blocks.
        std::thread::sleep(Duration::from_millis(50));
        Self(child)
    }

    pub(crate) fn pid(&self) -> u64 {
        u64::from(self.0.id())
    }

    pub(crate) fn name(&self) -> String {
        self.0.id().to_string()
    }

    /// Time on a CPU so far, of its first thread.
    pub(crate) fn cpu_ns(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/schedstat", self.pid())).unwrap();
        text.split_whitespace().next().unwrap().parse().unwrap()
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `programs/lives.c`, built once.
pub(crate) fn lives() -> &'static str {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let path = BUILT.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/lives.c");
        let program = support::fresh("lives");
        let status = Command::new("cc").args(["-O1", "-g", source, "-pthread", "-o"]).arg(&program).status();
        assert!(status.is_ok_and(|status| status.success()), "cc cannot compile lives.c");
        program
    });
    path.to_str().unwrap()
}

/// Calls `ask` each 80 ms, as long as dwell, of this process id, is at it.
pub(crate) fn while_it_lasts(dwell: u32, mut ask: impl FnMut()) {
    let ended = || {
        let stat = std::fs::read_to_string(format!("/proc/{dwell}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
    };
    let until = Instant::now() + Duration::from_secs(60);
    while !ended() {
        assert!(Instant::now() < until, "dwell does not end");
        std::thread::sleep(Duration::from_millis(80));
        ask();
    }
}

/// Waits until dwell, of this process id, has set up its instruments: before, it ends at once by a
/// signal, and a thread of its own waits for that.
pub(crate) fn until_it_records(dwell: u32) {
    let waits = || {
        let threads = std::fs::read_dir(format!("/proc/{dwell}/task")).into_iter().flatten().flatten();
        let named = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
        threads.into_iter().any(|thread| named(thread.path().join("comm")).starts_with("dwell-signals"))
    };
    let until = Instant::now() + Duration::from_secs(60);
    for wanted in [true, false] {
        while waits() != wanted {
            assert!(Instant::now() < until, "dwell does not begin to record");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    std::thread::sleep(Duration::from_millis(200));
}

pub(crate) fn schema() -> &'static jsonschema::Validator {
    static SCHEMA: OnceLock<jsonschema::Validator> = OnceLock::new();
    SCHEMA.get_or_init(|| super::schema("dwell.run/1"))
}

/// What dwell says of this window, once `meanwhile` (given dwell's process) and dwell are done.
/// `command` is dwell with its verb, `json` a file that it may write. What holds of every window is
/// checked.
pub(crate) fn attach(command: &mut Command, json: &Path, args: &[&str], meanwhile: impl FnOnce(u32)) -> Told {
    command.arg("-v").arg("--json").arg(json).args(args);
    let streams = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = streams.spawn().unwrap();
    meanwhile(child.id());
    let output = child.wait_with_output().unwrap();
    let [page, said] = [&output.stdout, &output.stderr].map(|of| String::from_utf8_lossy(of).into_owned());
    let text = std::fs::read_to_string(json).unwrap_or_else(|error| panic!("{error}: {args:?}\n{said}"));
    let _ = std::fs::remove_file(json);
    let told = Told {
        run: serde_json::from_str(&text).unwrap(),
        page,
        out: String::new(),
        code: output.status.code(),
    };
    closes(&told);
    assert_eq!(told.code, Some(0), "{said}");
    told
}

/// The account is the time of the threads that it is about, and each of their ledgers is its life.
pub(crate) fn closes(told: &Told) {
    let errors: Vec<String> =
        schema().iter_errors(&told.run).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(told.run["schema"], "dwell.attach/1");
    let whole = told.run["window"]["thread_ns"].as_u64().unwrap();
    let sum = |of: &str| {
        told.run[of].as_array().unwrap().iter().map(|one| one["ns"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!([sum("account"), sum("path")], [whole; 2], "{}", told.account());
    let active = count(told, "threads_active");
    let mut lives = 0;
    for thread in threads(told) {
        let states = thread["states"].as_object().unwrap();
        let life = thread["life_ns"].as_u64().unwrap();
        assert_eq!(states.values().map(|ns| ns.as_u64().unwrap()).sum::<u64>(), life, "{thread}");
        assert!(life <= told.wall(), "{thread}");
        if active == 0 || thread["idle"] == false {
            lives += life;
        }
    }
    assert_eq!(lives, whole);
    assert_eq!(threads(told).len() as u64, active + count(told, "threads_idle"));
}

pub(crate) fn threads(told: &Told) -> &Vec<Value> {
    told.run["threads"].as_array().unwrap()
}

pub(crate) fn count(told: &Told, of: &str) -> u64 {
    told.run["window"][of].as_u64().unwrap()
}

pub(crate) fn whole(told: &Told) -> u64 {
    count(told, "thread_ns")
}

/// Holds until it does, as often as it may.
pub(crate) fn hold(mut claim: impl FnMut() -> Result<(), String>) {
    let mut failed = Vec::new();
    for _ in 0..TRIES {
        match claim() {
            Ok(()) => return,
            Err(why) => failed.push(why),
        }
    }
    panic!("{}", failed.join("\n\n"));
}

pub(crate) fn ensure(so: bool, otherwise: &str, told: &Told) -> Result<(), String> {
    if so { Ok(()) } else { Err(format!("{otherwise}\n{}\n{}", told.account(), told.page)) }
}

/// Wall clock from the window's length to what it may be late by on a busy machine.
pub(crate) fn lasted(told: &Told, ms: u64) -> bool {
    (ms * MS..(ms + 1000) * MS).contains(&told.wall())
}
