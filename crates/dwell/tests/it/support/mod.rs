//! Runs a program under dwell, and holds what dwell said against what the program said of itself.
//!
//! What is claimed of which program stands in the tests; how a claim is judged on a machine that
//! others use too stands here. The tests need root and BPF, and never skip: where they run they
//! must pass.

pub(crate) mod causes;
pub(crate) mod kit;
pub(crate) mod memory;
pub(crate) mod quota;
pub(crate) mod window;

use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

pub(crate) const MS: u64 = 1_000_000;
/// On a CPU.
pub(crate) const CPU: &[&str] = &["kernel", "fault", "interrupt", "user"];
/// Blocked, in any way.
pub(crate) const BLOCKED: &[&str] = &["disk", "network", "lock", "pipe", "sleep", "other-wait"];
/// A machine that others use is sometimes too busy to tell; it is asked this often.
const TRIES: u32 = 5;

/// Keeps the tests of one binary from running at one time: each wants the machine for itself.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a program wrote.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A path of plain characters, as text.
pub(crate) fn utf8(path: &Path) -> &str {
    path.to_str().expect("a path of plain characters")
}

/// The JSON that it wrote to standard output.
pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}\n{}", text(&output.stdout), text(&output.stderr)))
}

/// The JSON in a file.
pub(crate) fn read_json(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{path:?}: {error}: {}", text(&bytes)))
}

/// A directory for what tests leave: on a disk, not in memory.
pub(crate) fn scratch() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// A path that no other test uses.
pub(crate) fn fresh(name: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    scratch().join(format!("{}-{}-{name}", std::process::id(), COUNT.fetch_add(1, Relaxed)))
}

/// The dwell under test.
pub(crate) fn dwell() -> &'static str {
    env!("CARGO_BIN_EXE_dwell")
}

/// The programs of known truth: `$DWELL_WORK`, or built once into the target directory that this
/// test came from.
pub(crate) fn work() -> &'static str {
    static BUILT: OnceLock<String> = OnceLock::new();
    BUILT.get_or_init(|| {
        if let Ok(built) = std::env::var("DWELL_WORK") {
            return built;
        }
        let beside = Path::new(dwell()).parent().expect("dwell has a directory");
        let profile = beside.file_name().and_then(|name| name.to_str()).expect("a profile's directory");
        let above = beside.parent().expect("a target directory");
        // With `--target` there is one directory more, named by the triple.
        let triple = above.file_name().and_then(|name| name.to_str()).filter(|name| name.contains("-linux-"));
        let target = if triple.is_some() { above.parent().expect("a target directory") } else { above };
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--package", "dwell-work", "--target-dir"]).arg(target);
        cargo.args(["--profile", if profile == "debug" { "dev" } else { profile }]);
        cargo.args(triple.iter().flat_map(|triple| ["--target", triple]));
        cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
        let status = cargo.status().expect("cargo starts");
        assert!(status.success(), "cannot build dwell-work: {cargo:?} ended with {status}");
        beside.join("dwell-work").to_str().expect("a path of plain characters").to_owned()
    })
}

/// The interpreter itself: what stands before it in the path may be a script, which is work of its
/// own.
pub(crate) fn python() -> &'static str {
    static FOUND: OnceLock<String> = OnceLock::new();
    FOUND.get_or_init(|| {
        let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        String::from_utf8(asked.expect("python3 starts").stdout).expect("a path").trim().to_owned()
    })
}

/// `programs/luck.c`, built once.
pub(crate) fn luck() -> &'static str {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let path = BUILT.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/luck.c");
        let program = scratch().join(format!("luck-{}", std::process::id()));
        let status = Command::new("cc").args(["-O1", "-pthread", source, "-o"]).arg(&program).status();
        assert!(status.is_ok_and(|status| status.success()), "cc cannot compile luck.c");
        program
    });
    path.to_str().expect("plain characters")
}

/// What came of one run.
#[derive(Debug)]
pub(crate) struct Told {
    /// What dwell said, as JSON.
    pub(crate) run: Value,
    /// What dwell printed for people.
    pub(crate) page: String,
    /// What the program printed.
    pub(crate) out: String,
    /// The program's exit status, as dwell passed it on.
    pub(crate) code: Option<i32>,
}

/// Every call is traced: what is compared with others' counts must not be an estimate.
const EXACT: [&str; 2] = ["--max-overhead", "none"];

/// Runs a program under dwell, with nothing to read and its output kept.
pub(crate) fn run(command: &[&str]) -> Told {
    run_as(Command::new("timeout").args(["-k", "5", "150"]), command, Stdio::null(), |_| ())
}

/// The same by way of `launcher` (a command that runs its arguments), with `input`, and with
/// something to do once the program's first line of output is there.
pub(crate) fn run_as(
    launcher: &mut Command,
    command: &[&str],
    input: Stdio,
    then: impl FnOnce(&str),
) -> Told {
    use std::io::{BufRead, BufReader, Read};
    let (json, page) = (fresh("run.json"), fresh("page.txt"));
    let kept = std::fs::File::create(&page).expect("a file for the page");
    launcher.arg(dwell()).args(["run", "-v"]).args(EXACT).arg("--json").arg(&json).arg("--").args(command);
    launcher.stdin(input).stdout(Stdio::piped()).stderr(kept);
    let mut child = launcher.spawn().expect("dwell starts");
    let mut reader = BufReader::new(child.stdout.take().expect("a pipe was asked for"));
    let mut out = Vec::new();
    reader.read_until(b'\n', &mut out).expect("the program's output can be read");
    then(String::from_utf8_lossy(&out).trim());
    reader.read_to_end(&mut out).expect("the program's output can be read");
    let status = child.wait().expect("dwell was started");
    let page = take(&page);
    let text = take(&json);
    let run = serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("no account of {command:?}: {error}; dwell ended with {status} and said:\n{page}")
    });
    Told { run, page, out: String::from_utf8_lossy(&out).into_owned(), code: status.code() }
}

/// The same with nothing to read and with the program's output in a file: `out`.
pub(crate) fn run_into(launcher: &mut Command, command: &[&str], out: &Path) -> Told {
    let (json, page) = (fresh("run.json"), fresh("page.txt"));
    launcher.arg(dwell()).args(["run", "-v"]).args(EXACT).arg("--json").arg(&json).arg("--").args(command);
    let status = redirect(launcher, out, &page).status().expect("dwell starts");
    let page = take(&page);
    let text = take(&json);
    let run = serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("no account of {command:?}: {error}; dwell ended with {status} and said:\n{page}")
    });
    Told { run, page, out: String::new(), code: status.code() }
}

/// Gives a command nothing to read and two files to write.
pub(crate) fn redirect<'a>(command: &'a mut Command, out: &Path, errors: &Path) -> &'a mut Command {
    let file = |path: &Path| std::fs::File::create(path).expect("a file in the scratch directory");
    command.stdin(Stdio::null()).stdout(file(out)).stderr(file(errors))
}

/// Reads a file and removes it.
fn take(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    let _ = std::fs::remove_file(path);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn ns(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("not a number of ns: {value}"))
}

impl Told {
    /// The whole wall clock.
    pub(crate) fn wall(&self) -> u64 {
        ns(&self.run["wall_ns"])
    }

    pub(crate) fn rows(&self, of: &str) -> &[Value] {
        self.run[of].as_array().unwrap_or_else(|| panic!("no {of}, but {}", self.run[of]))
    }

    /// Wall clock in these states.
    pub(crate) fn parts(&self, states: &[&str]) -> u64 {
        let of = |part: &&Value| states.contains(&part["state"].as_str().unwrap_or_default());
        self.rows("account").iter().filter(of).map(|part| ns(&part["ns"])).sum()
    }

    /// The interval given for a state; (0, 0) when it is not there.
    pub(crate) fn interval(&self, state: &str) -> (u64, u64) {
        let part = self.rows("account").iter().find(|part| part["state"] == state);
        part.map_or((0, 0), |part| (ns(&part["lo_ns"]), ns(&part["hi_ns"])))
    }

    /// Time on the path where this thread (any, if none is given) was in one of these states (any,
    /// if none).
    pub(crate) fn path(&self, tid: Option<u64>, states: &[&str]) -> u64 {
        self.steps(|step| {
            tid.is_none_or(|tid| step["tid"] == tid)
                && (states.is_empty() || states.contains(&step["state"].as_str().unwrap_or_default()))
        })
    }

    /// Time on the path in steps that are as asked.
    pub(crate) fn steps(&self, mut asked: impl FnMut(&Value) -> bool) -> u64 {
        self.rows("path").iter().filter(|step| asked(step)).map(|step| ns(&step["ns"])).sum()
    }

    /// A thread's own time in these states, on the path or not.
    pub(crate) fn thread(&self, tid: u64, states: &[&str]) -> u64 {
        let thread = self.thread_row(tid).unwrap_or_else(|| panic!("no thread {tid}\n{}", self.account()));
        states.iter().map(|state| thread["states"][*state].as_u64().unwrap_or(0)).sum()
    }

    /// Time that threads of this name waited for a CPU.
    pub(crate) fn queued(&self, name: &str) -> u64 {
        let rows = self.rows("threads").iter().filter(|row| row["name"] == name);
        rows.filter_map(|row| row["states"]["runqueue"].as_u64()).sum()
    }

    /// A thread's row.
    pub(crate) fn thread_row(&self, tid: u64) -> Option<&Value> {
        self.rows("threads").iter().find(|row| row["tid"] == tid)
    }

    /// Calls and errors of one system call; zeros when it was not made.
    pub(crate) fn calls(&self, name: &str) -> (u64, u64) {
        let row = self.rows("syscalls").iter().find(|row| row["name"] == name);
        row.map_or((0, 0), |row| (ns(&row["calls"]), ns(&row["errors"])))
    }

    /// All system calls: name, calls, errors.
    pub(crate) fn all_calls(&self) -> Vec<(String, u64, u64)> {
        let of = |row: &Value| {
            (row["name"].as_str().unwrap_or_default().to_owned(), ns(&row["calls"]), ns(&row["errors"]))
        };
        self.rows("syscalls").iter().map(of).collect()
    }

    /// The class that dwell gave it.
    pub(crate) fn class(&self) -> &str {
        self.run["bound"]["class"].as_str().unwrap_or_default()
    }

    /// Whether it is rightly called starved: others had the CPUs for half of the time that it did
    /// not sleep.
    fn is_starved(&self) -> bool {
        let queued = self.parts(&["runqueue", "throttled"]);
        self.class() == "starved" && queued * 2 >= (self.wall() - self.parts(&["sleep", "idle"])) * 9 / 10
    }

    /// The resource that dwell named.
    pub(crate) fn resource(&self) -> &str {
        self.run["bound"]["resource"].as_str().unwrap_or_default()
    }

    /// The line of truth that `program` printed.
    pub(crate) fn truth(&self, program: &str) -> Truth {
        let lines = self.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let line = lines.into_iter().find(|line| line["program"] == program);
        Truth(line.unwrap_or_else(|| panic!("{program} printed no truth but {:?}\n{}", self.out, self.page)))
    }

    /// The account and the path for people, for when a claim does not hold.
    pub(crate) fn account(&self) -> String {
        let ms = |value: &Value| value.as_f64().unwrap_or(f64::NAN) / 1e6;
        let mut text = format!("wall {:.3} ms, bound {}\n", ms(&self.run["wall_ns"]), self.run["bound"]);
        for part in self.rows("account") {
            let (lo, hi) = (ms(&part["lo_ns"]), ms(&part["hi_ns"]));
            let _ = writeln!(
                text,
                "  {:<12}{:>10.3} ms [{lo:.3} to {hi:.3}] {}",
                part["state"].as_str().unwrap_or("?"),
                ms(&part["ns"]),
                part["basis"]
            );
        }
        text.push_str("path\n");
        for step in self.rows("path").iter().take(25) {
            let _ = writeln!(
                text,
                "  {:>7}/{:<7} {} {} {} {:.3} ms x{}",
                step["pid"],
                step["tid"],
                step["process"],
                step["state"],
                step["reason"],
                ms(&step["ns"]),
                step["count"]
            );
        }
        text.push_str("threads\n");
        for thread in self.rows("threads").iter().take(12) {
            let _ = writeln!(
                text,
                "  {:>7} {} life {:.3} ms {}",
                thread["tid"],
                thread["name"],
                ms(&thread["life_ns"]),
                thread["states"]
            );
        }
        for wait in self.rows("waits").iter().take(12) {
            let _ = writeln!(
                text,
                "wait {} {} {} {}",
                wait["reason"], wait["call"], wait["on"], wait["total_ns"]
            );
        }
        let coverage = &self.run["coverage"];
        let _ = writeln!(
            text,
            "lost {} checks {} notes {}",
            coverage["lost_events"], coverage["checks"], coverage["notes"]
        );
        text
    }
}

/// What a program said of itself.
#[derive(Debug)]
pub(crate) struct Truth(pub(crate) Value);

impl Truth {
    /// A duration.
    pub(crate) fn ns(&self, what: &str) -> u64 {
        self.0["ns"][what].as_u64().unwrap_or_else(|| panic!("no duration {what} in {}", self.0))
    }

    /// A process or thread.
    pub(crate) fn id(&self, what: &str) -> u64 {
        self.0["ids"][what].as_u64().unwrap_or_else(|| panic!("no id {what} in {}", self.0))
    }

    /// A count.
    pub(crate) fn count(&self, what: &str) -> u64 {
        self.0["counts"][what].as_u64().unwrap_or_else(|| panic!("no count {what} in {}", self.0))
    }

    /// User and system time of the process and of the children that it waited for.
    pub(crate) fn cpu(&self) -> u64 {
        ns(&self.0["cpu_ns"])
    }
}

/// What is claimed of one run, and what of it does not hold.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    failed: Vec<String>,
    /// CPU time that the hypervisor took meanwhile.
    pub(crate) stolen_ns: u64,
}

/// What the hypervisor took, with a step of the kernel's count for each CPU where it took any.
fn stolen_ns(told: &Told) -> u64 {
    let stolen = told.run["coverage"]["steal_ns"].as_u64().unwrap_or(0);
    if stolen == 0 { 0 } else { stolen + 20 * MS }
}

/// How closely a measured time is to be recovered: 1 % or 1 ms, whichever is larger.
pub(crate) fn tolerance(ns: u64) -> u64 {
    (ns / 100).max(MS)
}

impl Claims {
    /// Something is so.
    pub(crate) fn that(&mut self, so: bool, otherwise: impl Into<String>) {
        if !so {
            self.failed.push(otherwise.into());
        }
    }

    /// Two things are equal.
    pub(crate) fn equal<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, got: T, want: T) {
        self.that(got == want, format!("{what}: {got:?}, not {want:?}"));
    }

    /// The class is one of these, or `starved` where the machine is so busy.
    pub(crate) fn class(&mut self, told: &Told, right: &[&str]) {
        let so = right.contains(&told.class()) || told.is_starved();
        self.that(so, format!("class {}, not {right:?}", told.class()));
    }

    /// The resource is this one, unless the CPU is the one that lacked.
    pub(crate) fn resource(&mut self, told: &Told, right: &str) {
        let so = told.resource() == right || told.is_starved() && told.resource() == "runqueue";
        self.that(so, format!("resource {}, not {right}", told.resource()));
    }

    /// A time is between two, with the tolerance of each at its end.
    pub(crate) fn between(&mut self, what: &str, got: u64, lo: u64, hi: u64) {
        let so = got + tolerance(lo) >= lo && got <= hi + tolerance(hi);
        let ms = |ns: u64| ns as f64 / 1e6;
        let otherwise = format!("{what}: {:.3} ms, not {:.3} to {:.3} ms", ms(got), ms(lo), ms(hi));
        self.that(so, otherwise);
    }

    /// A time is what the program measured.
    pub(crate) fn near(&mut self, what: &str, got: u64, truth: u64) {
        self.between(what, got, truth, truth);
    }

    /// Work is what the program's own CPU clock says, give or take starting and ending. The kernel
    /// leaves stolen time out of that clock (CONFIG_PARAVIRT_TIME_ACCOUNTING), and no event tells a
    /// tracer of it.
    pub(crate) fn worked(&mut self, what: &str, got: u64, spun_cpu: u64) {
        self.between(what, got, spun_cpu, spun_cpu + 2 * MS + self.stolen_ns);
    }

    /// A wait is what the program measured around its call, less what the thread then waited for a
    /// CPU.
    pub(crate) fn waited(&mut self, what: &str, got: u64, truth: u64, runqueue: u64) {
        self.between(what, got, truth.saturating_sub(runqueue), truth);
    }

    /// A time is too short to matter.
    pub(crate) fn little(&mut self, what: &str, got: u64) {
        self.between(what, got, 0, 0);
    }

    /// What holds of every run: both ledgers close, state by state, next to nothing is left
    /// unexplained, and the kernel's own counters agree.
    pub(crate) fn closes(&mut self, told: &Told) {
        let wall = told.wall();
        self.equal("sum of the account", told.rows("account").iter().map(|part| ns(&part["ns"])).sum(), wall);
        self.equal("sum of the path", told.path(None, &[]), wall);
        for part in told.rows("account") {
            let state = part["state"].as_str().unwrap_or_default();
            let (lo, hi) = told.interval(state);
            self.equal(&format!("path in {state}"), told.path(None, &[state]), ns(&part["ns"]));
            self.that((lo..=hi).contains(&ns(&part["ns"])), format!("{state} is outside its own interval"));
            self.that(
                part["basis"] != "measured" || lo == hi,
                format!("{state} is measured, with an interval"),
            );
        }
        for thread in told.rows("threads") {
            let states = thread["states"].as_object().map_or(0, |states| states.values().map(ns).sum());
            self.equal(&format!("states of thread {}", thread["tid"]), states, ns(&thread["life_ns"]));
        }
        let (mut sliced, slices) = (0, &told.run["phases"]["slices"]);
        for slice in slices.as_array().into_iter().flatten() {
            sliced += slice.as_object().map_or(0, |states| states.values().map(ns).sum());
        }
        self.equal("sum of the phases", sliced, wall);
        // A wait for dwell itself, which reads the maps of a process that forks, is explained. It
        // lasts where others have dwell's CPU.
        let ours = told.steps(|step| {
            step["state"] == "other-wait"
                && step["reason"].as_str().is_some_and(|reason| reason.ends_with("external dwell"))
        });
        let dark = told.parts(&["unexplained", "other-wait"]) - ours;
        let share = dark as f64 * 100.0 / wall as f64;
        self.that(share <= 1.0, format!("{share:.2} % of the wall is unexplained or other-wait"));
        for check in told.run["coverage"]["checks"].as_array().into_iter().flatten() {
            self.that(check["agrees"] == true, format!("the kernel's own counters disagree: {check}"));
        }
        self.equal("lost events", &told.run["coverage"]["lost_events"], &Value::from(0));
    }
}

/// Runs `command` and judges what is claimed of it beside what holds of every run. A machine that
/// others use may spoil a run; a claim that does not hold in any of them is false.
pub(crate) fn hold(command: &[&str], claim: impl Fn(&Told, &mut Claims)) {
    hold_with(|| run(command), claim);
}

/// As `hold`, for runs that need something around them.
pub(crate) fn hold_with(run: impl Fn() -> Told, claim: impl Fn(&Told, &mut Claims)) {
    hold_coarse(run, |told, claims| {
        claims.closes(told);
        claim(told, claims);
    });
}

/// The same where dwell has not all access: nothing but what is claimed has to hold.
pub(crate) fn hold_coarse(run: impl Fn() -> Told, claim: impl Fn(&Told, &mut Claims)) {
    let _alone = alone();
    let (mut failed, mut last) = (String::new(), String::new());
    for tried in 1..=TRIES {
        if tried > 1 {
            await_calm();
        }
        let told = run();
        let stolen_ns = stolen_ns(&told);
        let mut claims = Claims { stolen_ns, ..Claims::default() };
        claim(&told, &mut claims);
        if claims.failed.is_empty() {
            return;
        }
        let stolen_ms = stolen_ns as f64 / 1e6;
        let _ =
            writeln!(failed, "try {tried}, {stolen_ms:.0} ms stolen:\n    {}", claims.failed.join("\n    "));
        last = format!(
            "{}: {}the program said: {}",
            told.run["command"],
            told.account(),
            told.out.chars().take(2000).collect::<String>()
        );
    }
    // What failed stands first, and of one try only all the rest: a log is soon cut.
    panic!("what does not hold, of {TRIES} tries\n{failed}the last was of {last}");
}

/// Waits until next to nothing else runs here and a hypervisor takes nothing, for three seconds at
/// most: who keeps a machine busy for longer keeps it busy, and what fails runs again much later.
fn await_calm() {
    let _ = (0..6).find(|_| {
        let before = ticks();
        std::thread::sleep(std::time::Duration::from_millis(500));
        let after = ticks();
        after.0 - before.0 < 10 && after.1 == before.1
    });
}

/// What all CPUs of this machine did so far, in hundredths of a second: busy, and stolen.
fn ticks() -> (u64, u64) {
    let stat = std::fs::read_to_string("/proc/stat").expect("there is /proc/stat");
    let field = |at: usize| {
        let word = stat.split_whitespace().nth(at).and_then(|word| word.parse::<u64>().ok());
        word.expect("its first line has ten numbers")
    };
    ([1, 2, 3, 6, 7].map(field).iter().sum(), field(8))
}

/// Runs a program of known truth and judges what is claimed of it.
pub(crate) fn holds(program: &str, args: &[&str], claim: impl Fn(&Told, &Truth, &mut Claims)) {
    let command: Vec<&str> = [work(), program].iter().chain(args).copied().collect();
    hold(&command, |told, claims| claim(told, &told.truth(program), claims));
}

/// The validator of results that call themselves so: `dwell.run/1`.
pub(crate) fn schema(name: &str) -> jsonschema::Validator {
    let schema = schema::Published::named(name).expect("it has a schema").schema();
    jsonschema::draft202012::meta::validate(&schema).expect("the schema is one of draft 2020-12");
    jsonschema::draft202012::new(&schema).expect("the schema compiles")
}

/// What is wrong with it by its schema.
pub(crate) fn errors(schema: &jsonschema::Validator, value: &Value) -> Vec<String> {
    schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// A program that is gone with the test.
pub(crate) struct Gone(pub(crate) Child);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
