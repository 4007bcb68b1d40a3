//! The programs that are run: how much each is given to do, what of it is timed, and what dwell is
//! to reach on it.
//!
//! Those in C lie in `bench/` and are compiled here; `made` writes what they read.

use super::made;
use super::tool::Tool;
use anyhow::Result;
use std::path::Path;
use std::sync::OnceLock;
use workshop::shell::{output, program, root, run};

/// What of a run counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timed {
    /// The program measures itself, without its own start: nanoseconds for one operation.
    Itself,
    /// From the start of the program to its end, without the tool's start-up.
    Program,
    /// The tool with everything, from its start to its end.
    Whole,
}

/// How many operations, or rounds, a run does.
pub(crate) struct Sizes {
    pub(crate) usual: u64,
    pub(crate) quick: u64,
    /// With a tool that makes system calls slow. Only the time of one operation is compared, so it
    /// may differ.
    pub(crate) slow_tool: u64,
}

/// A question, and who is asked: one table each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    /// What being watched costs, at dwell's own choice of rate.
    Cost,
    /// What stacks cost, rate by rate.
    Stacks,
    /// What watching Python line by line costs.
    Python,
    /// How long dwell needs after the program's end to name what it saw.
    Ends,
}

/// A program of the benchmark.
pub(crate) struct Program {
    pub(crate) set: Set,
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) timed: Timed,
    pub(crate) sizes: Sizes,
    /// What dwell is to stay below: a ratio, or milliseconds where the whole is timed; by tool.
    reach: &'static [(Tool, f64)],
    command: &'static [&'static str],
}

/// What is run in more than one set.
const COMPILE: &[&str] = &["cc", "-O2", "-c", "{here}/generated.c", "-o", "{here}/generated.o"];
const THREADS: &[&str] = &["{here}/threads", "4", "{n}"];
const PURE_PYTHON: &[&str] = &["{python}", "{bench}/python_cpu.py", "{n}"];

const ONE_SIZE: Sizes = Sizes::all(0);

const SLIGHT: &[(Tool, f64)] = &[(Tool::Dwell, 1.02)];
const RATES: &[(Tool, f64)] = &[(Tool::Dwell199, 1.01), (Tool::Dwell999, 1.03)];
/// Milliseconds after the end. The first has far fewer samples than a minute's run, the second as
/// many.
const NAMES: &[(Tool, f64)] = &[(Tool::Dwell999, 1000.0), (Tool::DwellMany, 1000.0)];

/// All, in the order of the tables. In a command `{here}` is where compiled programs lie, `{bench}`
/// the sources, `{python}` the interpreter, `{n}` the size.
pub(crate) const PROGRAMS: &[Program] = &[
    Program {
        set: Set::Cost,
        name: "ls",
        what: "ls -lR /usr",
        timed: Timed::Program,
        sizes: ONE_SIZE,
        reach: SLIGHT,
        command: &["ls", "-lR", "/usr"],
    },
    Program {
        set: Set::Cost,
        name: "read",
        what: "one-byte reads",
        timed: Timed::Itself,
        sizes: Sizes { usual: 5_000_000, quick: 2_000_000, slow_tool: 50_000 },
        reach: &[(Tool::Dwell, 1.10), (Tool::DwellExact, 2.2)],
        command: &["{here}/read_byte", "{n}"],
    },
    Program {
        set: Set::Cost,
        name: "ping-pong",
        what: "pipe ping-pong, one CPU",
        timed: Timed::Itself,
        sizes: Sizes { usual: 300_000, quick: 100_000, slow_tool: 10_000 },
        reach: &[(Tool::Dwell, 1.15), (Tool::DwellExact, 1.45)],
        command: &["{here}/ping_pong", "{n}"],
    },
    Program {
        set: Set::Cost,
        name: "python",
        what: "pure Python",
        timed: Timed::Program,
        sizes: Sizes { usual: 10, quick: 4, slow_tool: 10 },
        reach: SLIGHT,
        command: PURE_PYTHON,
    },
    Program {
        set: Set::Cost,
        name: "compile",
        what: "cc -O2 of one file",
        timed: Timed::Program,
        sizes: ONE_SIZE,
        reach: SLIGHT,
        command: COMPILE,
    },
    Program {
        set: Set::Cost,
        name: "find",
        what: "find /usr -name '*.so'",
        timed: Timed::Program,
        sizes: ONE_SIZE,
        reach: SLIGHT,
        command: &["find", "/usr", "-name", "*.so"],
    },
    Program {
        set: Set::Cost,
        name: "find-again",
        what: "the same, 30 times in one shell",
        timed: Timed::Program,
        sizes: Sizes { usual: 30, quick: 5, slow_tool: 1 },
        reach: SLIGHT,
        command: &[
            "sh",
            "-c",
            "i=0; while [ $i -lt $0 ]; do find /usr -name '*.so' >/dev/null; i=$((i + 1)); done",
            "{n}",
        ],
    },
    Program {
        set: Set::Cost,
        name: "web-server",
        what: "a web server of Python, a request",
        timed: Timed::Itself,
        sizes: Sizes { usual: 5_000, quick: 2_000, slow_tool: 1_000 },
        reach: SLIGHT,
        command: &["{python}", "{bench}/web_server.py", "{n}"],
    },
    Program {
        set: Set::Cost,
        name: "threads",
        what: "4 threads, one mutex",
        timed: Timed::Itself,
        sizes: Sizes { usual: 10_000, quick: 4_000, slow_tool: 10_000 },
        reach: SLIGHT,
        command: THREADS,
    },
    Program {
        set: Set::Cost,
        name: "true",
        what: "true, all of it",
        timed: Timed::Whole,
        sizes: ONE_SIZE,
        reach: &[(Tool::Dwell, 80.0)],
        command: &["true"],
    },
    Program {
        set: Set::Stacks,
        name: "stacks-compile",
        what: "cc -O2 of one file",
        timed: Timed::Program,
        sizes: ONE_SIZE,
        reach: RATES,
        command: COMPILE,
    },
    Program {
        set: Set::Stacks,
        name: "stacks-gzip",
        what: "gzip of 40 MiB",
        timed: Timed::Program,
        sizes: ONE_SIZE,
        reach: RATES,
        command: &["gzip", "-5", "-c", "{here}/generated.text"],
    },
    Program {
        set: Set::Stacks,
        name: "stacks-threads",
        what: "4 threads, one mutex",
        timed: Timed::Itself,
        sizes: Sizes { usual: 10_000, quick: 4_000, slow_tool: 10_000 },
        reach: RATES,
        command: THREADS,
    },
    Program {
        set: Set::Python,
        name: "python-lines",
        what: "pure Python, a round",
        timed: Timed::Itself,
        sizes: Sizes { usual: 20, quick: 10, slow_tool: 3 },
        reach: &[(Tool::Dwell, 1.05)],
        command: PURE_PYTHON,
    },
    Program {
        set: Set::Ends,
        name: "end-compile",
        what: "cc -O2 of one file",
        timed: Timed::Program,
        sizes: ONE_SIZE,
        reach: NAMES,
        command: COMPILE,
    },
    Program {
        set: Set::Ends,
        name: "end-rustc",
        what: "rustc -O of a crate",
        timed: Timed::Program,
        sizes: ONE_SIZE,
        reach: NAMES,
        command: &["{rustc}", "-O", "--crate-type=lib", "--out-dir={here}", "{here}/generated.rs"],
    },
    Program {
        set: Set::Ends,
        name: "end-big",
        what: "500 MiB of debug information",
        timed: Timed::Program,
        sizes: Sizes::all(5_000),
        reach: NAMES,
        command: &["{here}/big", "{n}"],
    },
];

impl Sizes {
    const fn all(size: u64) -> Self {
        Self { usual: size, quick: size, slow_tool: size }
    }
}

impl Set {
    /// All, in the order of the tables.
    pub(crate) const ALL: [Self; 4] = [Self::Cost, Self::Stacks, Self::Python, Self::Ends];

    /// By which it is asked for.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cost => "cost",
            Self::Stacks => "stacks",
            Self::Python => "python-lines",
            Self::Ends => "ends",
        }
    }

    /// The tools that run its programs, in the order of the table.
    pub(crate) fn tools(self) -> &'static [Tool] {
        use Tool::*;
        match self {
            Self::Cost => &[Bare, BareAgain, Dwell, Bpftrace, Strace, PerfTrace],
            Self::Stacks => &[Bare, BareAgain, Dwell199, Dwell999, PerfRecord],
            Self::Python => &[Bare, BareAgain, Dwell, Dwell999, PySpy, LineProfiler],
            Self::Ends => &[Bare, Dwell999, DwellMany],
        }
    }
}

impl Program {
    /// The words to run it with.
    pub(crate) fn command(&self, here: &Path, quick: bool, slow_tool: bool) -> Vec<String> {
        let Sizes { usual, quick: less, slow_tool: least } = self.sizes;
        let size = if quick { less } else { usual };
        // A quick run with a slow tool never does more than a quick one.
        let size = if slow_tool { size.min(least) } else { size };
        let fill = |word: &&str| {
            word.replace("{here}", &here.to_string_lossy())
                .replace("{bench}", &root().join("bench").to_string_lossy())
                .replace("{python}", if *word == "{python}" { python() } else { "" })
                .replace("{rustc}", if *word == "{rustc}" { rustc() } else { "" })
                .replace("{n}", &size.to_string())
        };
        self.command.iter().map(fill).collect()
    }

    /// What the tool is to stay below.
    pub(crate) fn reach(&self, tool: Tool) -> Option<f64> {
        self.reach.iter().find(|(of, _)| *of == tool).map(|(_, reach)| *reach)
    }
}

/// The interpreter itself: what is called `python3` may be a script that looks for it, and would be
/// timed too.
pub(crate) fn python() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let asked = output(&mut program("python3", &["-c", "import sys; print(sys.executable)"]));
        asked.map_or_else(|_| "python3".to_owned(), |path| path.trim().to_owned())
    })
}

/// The compiler itself: what is called `rustc` may choose among several first.
fn rustc() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let asked = output(&mut program("rustc", &["--print", "sysroot"]));
        asked.map_or_else(|_| "rustc".to_owned(), |path| format!("{}/bin/rustc", path.trim()))
    })
}

/// Compiles what is in C into `here`, and writes the file that the compiler is timed on.
///
/// # Errors
/// When there is no compiler, or it fails.
pub(crate) fn compile_all(here: &Path) -> Result<()> {
    for name in ["timed", "read_byte", "ping_pong", "threads"] {
        compile(here, name)?;
    }
    made::write_all(here)
}

/// Compiles one of the programs in `bench/`.
///
/// # Errors
/// When there is no compiler, or it fails.
pub(crate) fn compile(here: &Path, name: &str) -> Result<()> {
    let source = root().join("bench").join(name).with_extension("c");
    let mut cc = program("cc", &["-O2", "-Wall", "-pthread", "-o"]);
    run(cc.arg(here.join(name)).arg(source))
}
