//! Programs built for a test, run under dwell with their stacks written down, and a reader of
//! folded stacks that knows nothing of how dwell writes them.

use crate::support::{self, Claims, Told, fresh, hold_with, scratch, utf8};
use serde_json::Value;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// For programs in C.
pub(crate) const CC: &[&str] = &["cc", "-O2", "-g", "-fomit-frame-pointer"];

/// A file among the tests' programs.
pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

/// Runs a command that must succeed.
pub(crate) fn done(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} ended with {}: {said}", output.status);
}

/// The directory for what `build` makes, of this process: other modules run beside it.
pub(crate) fn built() -> PathBuf {
    let dir = scratch().join(format!("code-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory in the scratch directory");
    dir
}

/// Builds `to` out of sources with `compiler`, which may have arguments; `more` stands after the
/// sources.
pub(crate) fn build(compiler: &[&str], sources: &[&Path], more: &[&str], to: &str) -> PathBuf {
    let (new, path) = (fresh(to), built().join(to));
    // Under a name of its own first: another test may run the same program.
    let mut command = Command::new(compiler[0]);
    done(command.args(&compiler[1..]).args(["-o", utf8(&new)]).args(sources).args(more));
    std::fs::rename(&new, &path).expect("the program can be renamed");
    path
}

/// A program in C of one source.
pub(crate) fn c(name: &str) -> PathBuf {
    build(CC, &[&source(&format!("{name}.c"))], &["-pthread"], name)
}

/// A line of a source that holds `mark`, from 1.
pub(crate) fn line_of(name: &str, mark: &str) -> u64 {
    let text = std::fs::read_to_string(source(name)).expect("the source is there");
    let at = text.lines().position(|line| line.contains(mark));
    at.unwrap_or_else(|| panic!("{name} has no line with {mark:?}")) as u64 + 1
}

/// One line of folded stacks.
#[derive(Debug, Clone)]
pub(crate) struct Stack {
    /// The process, then functions from the outermost on, with their marks (`_[k]`).
    pub(crate) frames: Vec<String>,
    /// What it was waiting for; none when it was on a CPU.
    pub(crate) waiting: Option<String>,
    pub(crate) ns: u64,
}

impl Stack {
    /// Whether it leads through these functions in this order, with any others in between.
    pub(crate) fn through(&self, names: &[&str]) -> bool {
        let mut frames = self.frames.iter().skip(1);
        names.iter().all(|name| frames.any(|frame| bare(frame) == *name))
    }

    /// Whether these functions follow one another without others in between; inlined ones are no
    /// others.
    pub(crate) fn chain(&self, names: &[&str]) -> bool {
        let frames: Vec<&str> =
            self.frames.iter().skip(1).filter(|frame| !frame.ends_with("_[i]")).map(|f| bare(f)).collect();
        frames.windows(names.len()).any(|window| window == names)
    }

    /// Its root says that the rest could not be followed.
    pub(crate) fn is_cut(&self) -> bool {
        self.frames.iter().any(|frame| frame.starts_with("[cut: "))
    }

    /// The innermost function.
    pub(crate) fn leaf(&self) -> &str {
        self.frames.last().map_or("", |frame| bare(frame))
    }
}

/// A name without its mark.
pub(crate) fn bare(frame: &str) -> &str {
    ["_[k]", "_[i]", "_[j]"].iter().find_map(|mark| frame.strip_suffix(mark)).unwrap_or(frame)
}

/// Reads folded stacks: `frame;frame;frame weight` a line, nothing else.
pub(crate) fn folded(text: &str) -> Vec<Stack> {
    text.lines().map(|line| stack(line).unwrap_or_else(|| panic!("no folded stack: {line:?}"))).collect()
}

fn stack(line: &str) -> Option<Stack> {
    let (stack, weight) = line.rsplit_once(' ')?;
    let mut frames: Vec<String> = stack.split(';').map(str::to_owned).collect();
    if frames.iter().any(String::is_empty) || line.chars().any(char::is_control) {
        return None;
    }
    let reason = frames.last()?.strip_prefix("[waiting: ").and_then(|reason| reason.strip_suffix(']'));
    let waiting = reason.map(str::to_owned);
    if waiting.is_some() {
        frames.pop();
    }
    Some(Stack { frames, waiting, ns: weight.parse().ok()? })
}

/// What dwell said of a program's code.
#[derive(Debug, Clone)]
pub(crate) struct Code {
    pub(crate) stacks: Vec<Stack>,
    /// The same as it was written.
    pub(crate) text: String,
    functions: Vec<Value>,
    lines: Vec<Value>,
    waits: Vec<Value>,
}

/// A row of a table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    pub(crate) share: f64,
    pub(crate) lo: f64,
    pub(crate) hi: f64,
    /// With what it called.
    pub(crate) total: f64,
    pub(crate) samples: u64,
    pub(crate) module: String,
    pub(crate) mode: String,
}

fn row(value: &Value) -> Row {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Row {
        share: number(&value["share"]["value"]),
        lo: number(&value["share"]["lo"]),
        hi: number(&value["share"]["hi"]),
        total: number(&value["total"]["value"]),
        samples: value["samples"].as_u64().unwrap_or(0),
        module: word(&value["module"]),
        mode: word(&value["mode"]),
    }
}

impl Code {
    pub(crate) fn new(run: &Value, text: String) -> Self {
        let rows = |of: &str| run[of].as_array().cloned().unwrap_or_default();
        Code {
            stacks: folded(&text),
            functions: rows("functions"),
            lines: rows("lines"),
            waits: rows("waits"),
            text,
        }
    }

    /// Time on a CPU of all stacks that are as asked.
    pub(crate) fn cpu(&self, asked: impl Fn(&Stack) -> bool) -> u64 {
        self.stacks.iter().filter(|stack| stack.waiting.is_none() && asked(stack)).map(|stack| stack.ns).sum()
    }

    /// Time blocked of all stacks that are as asked.
    pub(crate) fn blocked(&self, asked: impl Fn(&Stack) -> bool) -> u64 {
        self.stacks.iter().filter(|stack| stack.waiting.is_some() && asked(stack)).map(|stack| stack.ns).sum()
    }

    /// Share of the time on a CPU, 0 to 1.
    pub(crate) fn share(&self, asked: impl Fn(&Stack) -> bool) -> f64 {
        self.cpu(asked) as f64 / self.cpu(|_| true).max(1) as f64
    }

    /// A function's row; one of zeros when there is none.
    pub(crate) fn function(&self, name: &str) -> Row {
        self.functions.iter().find(|value| value["name"] == name).map(row).unwrap_or_default()
    }

    /// The functions, largest first.
    pub(crate) fn functions(&self) -> Vec<(String, Row)> {
        let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
        self.functions.iter().map(|value| (name(value), row(value))).collect()
    }

    /// The lines, largest first: file, line, function, language, row.
    pub(crate) fn lines(&self) -> Vec<(String, u64, String, String, Row)> {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let of = |value: &Value| {
            let line = value["line"].as_u64().unwrap_or(0);
            (word(&value["file"]), line, word(&value["function"]), word(&value["language"]), row(value))
        };
        self.lines.iter().map(of).collect()
    }

    /// The stack of the longest wait of a kind, the innermost function first: `name (file:line)`.
    pub(crate) fn wait(&self, reason: &str) -> Vec<String> {
        let row = self.waits.iter().find(|value| value["reason"] == reason);
        let stack = row.and_then(|row| row["stack"].as_array().cloned()).unwrap_or_default();
        stack.iter().map(|frame| frame.as_str().unwrap_or_default().to_owned()).collect()
    }

    /// For when a claim does not hold.
    pub(crate) fn describe(&self) -> String {
        let mut stacks = self.stacks.clone();
        stacks.sort_by_key(|stack| std::cmp::Reverse(stack.ns));
        let mut text = String::new();
        for (name, row) in self.functions().into_iter().take(12) {
            text += &format!(
                "{name} {} {:.3} [{:.3} {:.3}] total {:.3}\n",
                row.module, row.share, row.lo, row.hi, row.total
            );
        }
        for (file, line, function, _, row) in self.lines().into_iter().take(6) {
            text += &format!("{file}:{line} {function} {:.3}\n", row.share);
        }
        for stack in stacks.iter().take(12) {
            let from = stack.frames.len().saturating_sub(14);
            let waiting = stack.waiting.as_deref().unwrap_or("on a CPU");
            text += &format!(
                "{} us {waiting}: {} …;{}\n",
                stack.ns / 1000,
                stack.frames[0],
                stack.frames[from..].join(";")
            );
        }
        text
    }
}

/// Runs a program under dwell with these options.
pub(crate) fn coded(options: &[&str], command: &[&str]) -> (Told, Code) {
    coded_by(Command::new("timeout").args(["-k", "5", "100", support::dwell()]), options, command)
}

/// The same with dwell run by `launcher`, whose last argument it is.
pub(crate) fn coded_by(launcher: &mut Command, options: &[&str], command: &[&str]) -> (Told, Code) {
    let (json, folded, page, out) = (fresh("run.json"), fresh("folded"), fresh("page"), fresh("out"));
    // Calls traced in slices leave waits with fewer stacks.
    launcher.args([
        "run",
        "-v",
        "--max-overhead",
        "none",
        "--flame",
        "--json",
        utf8(&json),
        "--folded",
        utf8(&folded),
        "-o",
        utf8(&page),
    ]);
    launcher.args(options).arg("--").args(command);
    let file = std::fs::File::create(&out).expect("a file in the scratch directory");
    let done = launcher.stdin(Stdio::null()).stdout(file).output().expect("dwell starts");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let take = |path: &Path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        let _ = std::fs::remove_file(path);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let (json, folded, page) = (take(&json), take(&folded), take(&page));
    let run: Value = serde_json::from_str(&json).unwrap_or_else(|error| {
        panic!("no account of {command:?}: {error}; dwell ended with {} and said:\n{said}{page}", done.status)
    });
    let code = Code::new(&run, folded);
    (Told { run, page: said + &page, out: take(&out), code: done.status.code() }, code)
}

/// Runs `command` with `options` and judges what is claimed of its code, beside what holds of every
/// run.
pub(crate) fn hold_code(options: &[&str], command: &[&str], claim: impl Fn(&Told, &Code, &mut Claims)) {
    hold_code_with(|| coded(options, command), claim);
}

/// As `hold_code`, for runs that need something around them.
pub(crate) fn hold_code_with(run: impl Fn() -> (Told, Code), claim: impl Fn(&Told, &Code, &mut Claims)) {
    let last = RefCell::new(None);
    let told = || {
        let (told, code) = run();
        *last.borrow_mut() = Some(code);
        told
    };
    hold_with(told, |told, claims| {
        let last = last.borrow();
        let code = last.as_ref().expect("it was run");
        let before = format!("{claims:?}");
        adds_up(told, code, claims);
        claim(told, code, claims);
        if before != format!("{claims:?}") {
            claims.that(false, format!("of this code:\n{}", code.describe()));
        }
    });
}

/// What holds of every run's stacks: together they are the time of the account's threads.
fn adds_up(told: &Told, code: &Code, claims: &mut Claims) {
    let sampled = code.cpu(|_| true) as f64;
    let counted =
        ["user_ns", "kernel_ns"].map(|part| told.run[part].as_f64().unwrap_or(0.0)).iter().sum::<f64>();
    // Samples are whole periods; each thread may be off by one, and short runs by their start. They
    // strike at random: four standard deviations of as many samples as there should be, of 3 ms
    // each.
    let off = (sampled - counted).abs();
    let so = off <= 0.1 * counted + 10e6 + 4.0 * (counted * 3e6).sqrt();
    claims.that(
        so,
        format!("stacks on a CPU stand for {:.1} ms, the threads ran {:.1} ms", sampled / 1e6, counted / 1e6),
    );
}

/// The interpreter that `python3` is in the end: what stands in PATH may be a script that looks for
/// one.
pub(crate) fn python() -> String {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    String::from_utf8_lossy(&output.expect("python3 starts").stdout).trim().to_owned()
}
