//! The verbs that are attacked, each with little work.

use super::place::{Target, Workplace};
use anyhow::{Context, Result, ensure};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A verb, or one of its options that works in another way.
pub(super) struct Verb {
    /// Also on the command line of `attack`.
    pub(super) name: &'static str,
    /// dwell's arguments; words in capitals stand for what they say.
    pub(super) words: &'static [&'static str],
    pub(super) fate: Fate,
    attaches: bool,
}

/// What becomes of the observed program when dwell is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It goes on to its end.
    GoesOn,
    /// It ends; dwell says so beforehand.
    EndsWithDwell,
    /// There is none, or dwell runs it itself many times.
    None,
}

/// The words of the program that is observed: it makes `started`, works for about a second, and
/// makes `finished`.
const PROGRAM: &str = "PROGRAM";
/// The PID of a program that was there before.
const TARGET: &str = "TARGET";

/// A Python that can count lines: 3.12 or later.
const COUNTING_PYTHON: &str = "COUNTING_PYTHON";

/// The recording that is shown.
const KEPT: &str = "KEPT";

const SHELL: &str = "echo > started; i=0; while [ $i -lt 40 ]; do sleep 0.02; i=$((i+1)); done; \
                     echo > finished";
const PYTHON: &str = "import time\nopen('started', 'w')\nfor i in range(40):\n    time.sleep(0.02)\n\
                      open('finished', 'w')\n";

/// What is stepped: a shell takes 100,000 steps to start, this one a tenth of that.
const STEPPED: &str = "STEPPED";
const STEPPED_SOURCE: &str = "
#include <fcntl.h>
#include <unistd.h>
int main(void) {
    close(open(\"started\", O_CREAT | O_WRONLY, 0600));
    usleep(800000);
    return close(open(\"finished\", O_CREAT | O_WRONLY, 0600));
}";

/// The short program of [`CASES`], which writes where it is told to.
const SHORT: &str = "echo > \"$0/started\"; i=0; while [ $i -lt 8 ]; do sleep 0.02; i=$((i+1)); done; \
                     echo > \"$0/finished\"";
const SHORT_PROGRAM: &str = "SHORT";

/// What runs in odd surroundings.
pub(super) const CASES: &[Verb] = &[
    run("run", &["run", "--json", "out.json", "--", SHORT_PROGRAM]),
    Verb {
        name: "attach",
        words: &["attach", "--for", "200ms", "--json", "out.json", TARGET],
        fate: Fate::None,
        attaches: true,
    },
    other("show", &["show", KEPT, "--json", "out.json"]),
    other("wake", &["wake", "--cpus", "0", "--for", "200ms", "--json", "out.json"]),
];

/// The program of [`CASES`] without dwell.
pub(super) fn bare(place: &Workplace) -> Vec<String> {
    vec!["/bin/sh".to_owned(), "-c".to_owned(), SHORT.to_owned(), place.path("")]
}

pub(super) const VERBS: &[Verb] = &[
    run("run", &["run", "--json", "out.json", "--keep", "out.kept", "--", PROGRAM]),
    run("run-names", &["run", "--names", "--json", "out.json", "--", PROGRAM]),
    run("run-perf", &["run", "--source", "perf", "--json", "out.json", "--", PROGRAM]),
    run("run-proc", &["run", "--source", "proc", "--json", "out.json", "--", PROGRAM]),
    Verb {
        name: "count-blocks",
        words: &["run", "--count-blocks", "--", STEPPED],
        fate: Fate::EndsWithDwell,
        attaches: false,
    },
    run("hits", &["run", "--hits", "--", COUNTING_PYTHON, "-c", PYTHON]),
    Verb {
        name: "attach",
        words: &["attach", "--names", "--for", "1s", "--json", "out.json", TARGET],
        fate: Fate::None,
        attaches: true,
    },
    other("show", &["show", "kept", "--json", "out.json", "--flame"]),
    other("compare", &["compare", "--pairs", "6", "--json", "out.json", "sleep 0.02", "sleep 0.01"]),
    other("wake", &["wake", "--for", "1s", "--json", "out.json"]),
    other("ladder", &["ladder", "--quick", "--dir", ".", "--json", "out.json"]),
    other("load", &["load", "cpu", "--for", "1s", "--json", "out.json"]),
    other("load-memory", &["load", "memory:size=64MiB", "--for", "1s", "--json", "out.json"]),
    other("wake-load", &["wake", "--load", "sched", "--for", "1s", "--json", "out.json"]),
    Verb {
        name: "compare-own",
        words: &["compare", "--pairs", "6", "--output", "out.txt", "--json", "out.json", "ls -R /etc"],
        fate: Fate::None,
        attaches: false,
    },
    other("lab", &["lab", "syncs", "--size", "40", "--pairs", "6", "--json", "out.json"]),
    other("diff", &["diff", "one.json", "one.json", "--json", "out.json"]),
    other("explain", &["explain"]),
    other("doctor", &["doctor"]),
    other("man", &["man", "pages"]),
];

const fn run(name: &'static str, words: &'static [&'static str]) -> Verb {
    Verb { name, words, fate: Fate::GoesOn, attaches: false }
}

const fn other(name: &'static str, words: &'static [&'static str]) -> Verb {
    Verb { name, words, fate: Fate::None, attaches: false }
}

impl Verb {
    /// Starts what it attaches to.
    pub(super) fn target(&self, place: &Workplace) -> Result<Option<Target>> {
        self.attaches.then(|| place.target()).transpose()
    }

    /// Its arguments.
    pub(super) fn arguments(&self, place: &Workplace, target: Option<&Target>) -> Vec<String> {
        let mut words = Vec::new();
        for word in self.words {
            match *word {
                PROGRAM => words.extend(["sh", "-c", SHELL].map(str::to_owned)),
                TARGET => words.extend(target.map(|target| target.pid().to_string())),
                SHORT_PROGRAM => words.extend(bare(place)),
                STEPPED => words.push(place.path("stepped")),
                KEPT => words.push(place.path("kept")),
                COUNTING_PYTHON => words.push(counting_python()),
                word => words.push(word.to_owned()),
            }
        }
        words
    }
}

/// The first Python that can count lines; without one the usual, which dwell then refuses.
fn counting_python() -> String {
    let names = ["python3", "python3.14", "python3.13", "python3.12"];
    let counts = |name: &&str| {
        let asked =
            Command::new(name).args(["-c", "import sys; sys.monitoring"]).stderr(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    };
    names.iter().find(|name| counts(name)).unwrap_or(&names[0]).to_string()
}

/// Makes the recording that is shown and compared, and the program that is stepped.
pub(super) fn prepare(place: &Workplace) -> Result<()> {
    let source = place.path("stepped.c");
    std::fs::write(&source, STEPPED_SOURCE)?;
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-static", "-o", &place.path("stepped"), &source]);
    ensure!(cc.status().context("cannot start cc")?.success(), "cc cannot compile what is stepped");
    let made = Verb {
        name: "keep",
        words: &[
            "run",
            "--keep",
            "kept",
            "--json",
            "one.json",
            "--",
            "sh",
            "-c",
            "for i in 1 2 3 4 5 6 7 8 9; do ls /; done",
        ],
        fate: Fate::None,
        attaches: false,
    };
    let status = place.start(&made, None)?.end(Duration::from_secs(60));
    ensure!(status.is_some_and(|status| status.success()), "cannot record: {}", place.said());
    Ok(())
}
