//! The programs that are run: how much each is given to do, what of it is timed, and what dwell is to reach on it.
//!
//! Those in C lie in `bench/` and are compiled here; the C file that is the compiler's load is made up here.

use crate::shell::{output, program, root, run};
use anyhow::{Context, Result};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

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
    /// With a tool that makes system calls slow. Only the time of one operation is compared, so it may differ.
    pub(crate) slow_tool: u64,
}

/// A program of the benchmark.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) timed: Timed,
    pub(crate) sizes: Sizes,
    /// What dwell is to stay below: a ratio, or milliseconds where the whole is timed.
    pub(crate) reach: f64,
    command: &'static [&'static str],
}

const ONE_SIZE: Sizes = Sizes { usual: 0, quick: 0, slow_tool: 0 };

/// All, in the order of the table. In a command `{here}` is where compiled programs lie, `{bench}` the sources,
/// `{python}` the interpreter, `{n}` the size.
pub(crate) const PROGRAMS: &[Program] = &[
    Program {
        name: "ls",
        what: "ls -lR /usr",
        timed: Timed::Program,
        sizes: ONE_SIZE,
        reach: 1.02,
        command: &["ls", "-lR", "/usr"],
    },
    Program {
        name: "read",
        what: "one-byte reads",
        timed: Timed::Itself,
        sizes: Sizes { usual: 5_000_000, quick: 2_000_000, slow_tool: 50_000 },
        reach: 2.2,
        command: &["{here}/read_byte", "{n}"],
    },
    Program {
        name: "ping-pong",
        what: "pipe ping-pong, one CPU",
        timed: Timed::Itself,
        sizes: Sizes { usual: 300_000, quick: 100_000, slow_tool: 10_000 },
        reach: 1.45,
        command: &["{here}/ping_pong", "{n}"],
    },
    Program {
        name: "python",
        what: "pure Python",
        timed: Timed::Program,
        sizes: Sizes { usual: 10, quick: 4, slow_tool: 10 },
        reach: 1.02,
        command: &["{python}", "{bench}/python_cpu.py", "{n}"],
    },
    Program {
        name: "compile",
        what: "cc -O2 of one file",
        timed: Timed::Program,
        sizes: ONE_SIZE,
        reach: 1.02,
        command: &["cc", "-O2", "-c", "{here}/generated.c", "-o", "{here}/generated.o"],
    },
    Program {
        name: "threads",
        what: "4 threads, one mutex",
        timed: Timed::Itself,
        sizes: Sizes { usual: 10_000, quick: 4_000, slow_tool: 10_000 },
        reach: 1.02,
        command: &["{here}/threads", "4", "{n}"],
    },
    Program {
        name: "true",
        what: "true, all of it",
        timed: Timed::Whole,
        sizes: ONE_SIZE,
        reach: 80.0,
        command: &["true"],
    },
];

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
                .replace("{n}", &size.to_string())
        };
        self.command.iter().map(fill).collect()
    }
}

/// The interpreter itself: what is called `python3` may be a script that looks for it, and would be timed too.
fn python() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let asked = output(&mut program("python3", &["-c", "import sys; print(sys.executable)"]));
        asked.map_or_else(|_| "python3".to_owned(), |path| path.trim().to_owned())
    })
}

/// Compiles what is in C into `here`, and writes the file that the compiler is timed on.
///
/// # Errors
/// When there is no compiler, or it fails.
pub(crate) fn compile_all(here: &Path) -> Result<()> {
    for name in ["timed", "read_byte", "ping_pong", "threads"] {
        let source = root().join("bench").join(name).with_extension("c");
        let mut cc = program("cc", &["-O2", "-Wall", "-pthread", "-o"]);
        run(cc.arg(here.join(name)).arg(source))?;
    }
    let generated = here.join("generated.c");
    fs::write(&generated, generated_source(120))
        .with_context(|| format!("cannot write {}", generated.display()))
}

/// A C file of many functions with loops, branches and calls: a second or two of an optimising compiler.
fn generated_source(functions: u32) -> String {
    let mut text =
        String::from("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n\n");
    text.push_str("struct item { int kind; double weight; char name[32]; struct item *next; };\n\n");
    for n in 0..functions {
        let (a, b) = (n * 7 % 31 + 2, n * 13 % 17 + 1);
        let callee = if n == 0 { "0".to_owned() } else { format!("work{}(head, n / 2, out)", n - 1) };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "double work{n}(struct item *head, int n, double *out)\n{{\n\tdouble sum = 0;\n\
             \tfor (struct item *i = head; i; i = i->next) {{\n\
             \t\tswitch (i->kind % 5) {{\n\
             \t\tcase 0: sum += i->weight * {a}; break;\n\
             \t\tcase 1: sum -= sqrt(fabs(i->weight)) / {b}; break;\n\
             \t\tcase 2: sum += strlen(i->name) % {a}; break;\n\
             \t\tcase 3: snprintf(i->name, sizeof i->name, \"item %d of %d\", i->kind, n); break;\n\
             \t\tdefault: sum *= 1.0 / ({b} + i->kind * i->kind);\n\t\t}}\n\t}}\n\
             \tfor (int x = 0; x < n; x++)\n\t\tfor (int y = 0; y < {a}; y++)\n\
             \t\t\tout[(x * {b} + y) % n] += sum * (x ^ y) + out[(x + y * {a}) % n];\n\
             \treturn n > {b} ? sum + {callee} : sum;\n}}\n\n"
        );
    }
    text
}
