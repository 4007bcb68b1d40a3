//! Python from outside: its functions and lines on a CPU and while they wait, in one stack with the
//! C around them.
//!
//! The scripts stand in `programs/`. Their interpreter is that of `python3`, and where more are
//! installed beside it (`~/.pyenv/versions`), each of them.

use crate::support::kit::{Stack, coded, hold_code, line_of, python, source};
use crate::support::{self, utf8};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every Python 3 here: that of `python3`, the system's, and those of pyenv.
fn pythons() -> Vec<String> {
    let mut found = vec![python()];
    let system = PathBuf::from("/usr/bin/python3");
    let home = std::env::var("HOME").unwrap_or_default();
    let versions =
        std::fs::read_dir(Path::new(&home).join(".pyenv/versions")).into_iter().flatten().flatten();
    let others = versions.map(|entry| entry.path().join("bin/python3"));
    for path in std::iter::once(system).chain(others).filter(|path| path.exists()) {
        let real = std::fs::canonicalize(&path).unwrap_or(path);
        let real = utf8(&real).to_owned();
        if std::fs::canonicalize(&found[0]).is_ok_and(|first| first != Path::new(&real))
            && !found.contains(&real)
        {
            found.push(real);
        }
    }
    found
}

/// The second number of a version: 11 of Python 3.11.
fn minor(python: &str) -> u32 {
    let print = "import sys; print(sys.version_info[1])";
    let output = Command::new(python).args(["-c", print]).output().expect("the interpreter starts");
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
}

/// Two functions of a script have the shares that it says, and its lines are named.
fn shares(python: &str, seconds: &str) {
    let script = source("shares.py");
    hold_code(&["--lines", "adds"], &[python, utf8(&script), seconds], |told, code, claims| {
        let truth = told.truth("shares.py");
        let (adds, joins) = (code.function("adds"), code.function("joins"));
        let all = truth.ns("adds") + truth.ns("joins");
        let want = truth.ns("adds") as f64 / all as f64;
        // Of the two: starting the interpreter is neither. The margin is that of this number of
        // samples, and the loop in `outer`, which is in both.
        let got = adds.total / (adds.total + joins.total);
        let samples = code.cpu(|s| s.through(&["outer"])) as f64 * 335e-9;
        let margin = 2.5 * (want * (1.0 - want) / samples).sqrt() + 0.01;
        claims.that(
            (got - want).abs() < margin,
            format!("{python}: adds is {got:.3} of both, not {want:.3} ± {margin:.3}"),
        );
        for name in ["adds", "joins"] {
            let (all, called) = (
                code.cpu(|s| s.through(&[name])),
                code.cpu(|s| s.through(&["<module>", "main", "outer", name])),
            );
            claims.equal(&format!("{python}: time of {name} below its callers"), called, all);
            let line = line_of("shares.py", &format!("line of {name}"));
            let lines: Vec<_> = code.lines().into_iter().filter(|l| l.2 == name).collect();
            let top = lines.first().map(|l| l.1);
            claims.equal(&format!("{python}: the line of {name}"), top, Some(line));
            let of_python = lines.iter().all(|l| l.3 == "python" && l.0.ends_with("shares.py"));
            claims.that(of_python, format!("{python}: {lines:?}"));
        }
        let known = code.share(|s| s.through(&["<module>", "main", "outer"]));
        let truth = all as f64 / code.cpu(|_| true) as f64;
        claims.that(
            known > truth - 0.04,
            format!("{python}: {known:.3} of the time is below outer, not {truth:.3}"),
        );
        claims.that(told.page.contains("value += value ^ i"), "--lines adds does not show the line's text");
    });
}

#[test]
fn functions_and_lines_of_a_script_have_their_shares() {
    shares(&python(), "1");
}

#[test]
fn every_interpreter_here_is_read_or_says_why_not() {
    for python in pythons().iter().skip(1) {
        if minor(python) >= 8 {
            shares(python, "0.5");
            continue;
        }
        hold_code(&[], &[python, utf8(&source("native.py"))], |told, _, claims| {
            let sources = told.run["coverage"]["sources"].as_array().into_iter().flatten();
            let code = sources.into_iter().find(|source| source["name"] == "code");
            let why = code.and_then(|code| code["why"].as_str()).unwrap_or_default();
            claims.that(why.contains(&format!("3.{}", minor(python))), format!("{python}: {why:?}"));
        });
    }
}

#[test]
fn a_blocked_script_names_the_functions_that_wait() {
    let script = source("waits.py");
    hold_code(&[], &[&python(), utf8(&script)], |told, code, claims| {
        let truth = told.truth("waits.py");
        for (reason, function, how_long) in
            [("sleep", "waits_for_the_clock", "slept"), ("lock", "waits_for_the_lock", "locked")]
        {
            let chain = ["<module>", "timed", function];
            let waited = |s: &Stack| s.waiting.as_deref() == Some(reason) && s.through(&chain);
            claims.near(&format!("folded time of {function}"), code.blocked(waited), truth.ns(how_long));
        }
        for (function, chain, at_least) in [
            ("holds_the_lock", ["Thread._bootstrap", "Thread.run", "holds_the_lock"], 150),
            ("fills_the_queue", ["Thread._bootstrap", "Thread.run", "fills_the_queue"], 120),
            ("waits_for_the_queue", ["Thread.run", "waits_for_the_queue", "Queue.get"], 115),
        ] {
            let blocked = code.blocked(|s| s.through(&chain));
            claims.that(
                blocked >= (at_least - 5) * 1_000_000,
                format!("{function} has waited for {blocked} ns"),
            );
        }
        let stack = code.wait("sleep");
        let named = stack.iter().any(|frame| frame.starts_with("waits_for_the_clock (waits.py:"));
        claims.that(named, format!("the stack of the longest sleep is {stack:?}"));
        let unnamed = code.text.matches("not described").count();
        claims.equal("frames without a name", unnamed, 0);
    });
}

#[test]
fn frames_of_c_stand_where_they_were_called() {
    let script = source("native.py");
    hold_code(&[], &[&python(), utf8(&script)], |_, code, claims| {
        let key = code.share(|s| s.through(&["key"]));
        claims.that(key > 0.5, format!("the key function is {key:.3}"));
        // From the script to C (`sorted` is `list.sort` inside) and back to the script.
        let c = |name: &str| code.share(|s| s.through(&["<module>", "main", "ranks", name, "key"]));
        let (sorted, sort) = (c("builtin_sorted"), c("list_sort_impl").max(c("list_sort")));
        claims.that(
            sorted.max(sort) > 0.95 * key,
            format!("of {key:.3} below sorted {sorted:.3}, below list.sort {sort:.3}"),
        );
        let wrong = code.share(|s| s.through(&["key", "ranks"]) || s.through(&["key", "list_sort_impl"]));
        claims.that(wrong == 0.0, format!("{wrong:.3} is in the wrong order"));
        // Each evaluation is the function that it evaluates, so none is left beside it.
        let twice = code.share(|s| s.through(&["main", "_PyEval_EvalFrameDefault"]));
        claims.that(twice < 0.01, format!("{twice:.3} has an evaluation of nothing"));
        let line = line_of("native.py", "line of key");
        let top = code.lines().into_iter().next().map(|l| (l.2, l.1));
        claims.equal("the top line", top, Some(("key".to_owned(), line)));
    });
}

#[test]
fn a_grid_that_reallocates_is_the_line_that_allocates() {
    let script = source("grid.py");
    hold_code(&["--lines", "evolve"], &[&python(), utf8(&script)], |told, code, claims| {
        let line = line_of("grid.py", "line of the allocation");
        let top = code.lines().into_iter().next();
        let (file, at, row) = top.map(|l| (l.0, l.1, l.4)).unwrap_or_default();
        claims.that(file.ends_with("grid.py") && at == line, format!("the top line is {file}:{at}"));
        claims.that(row.lo > 0.35, format!("it is {:.3}, {:.3} at least", row.share, row.lo));
        let shown = told.page.contains("new = [[0.0] * size for _ in range(size)]");
        claims.that(shown, "--lines evolve does not show the line's text");
    });
}

#[test]
fn a_script_that_runs_fifty_milliseconds_is_not_missed() {
    let program = "import argparse, json, decimal\nfor i in range(100000): i ^ 1\n";
    for python in [python(), "/usr/bin/python3".to_owned()].iter().filter(|path| Path::new(path).exists()) {
        hold_code(&[], &[python, "-S", "-c", program], |_, code, claims| {
            let evaluated = |s: &Stack| {
                s.frames.iter().any(|frame| frame.starts_with("_PyEval_EvalFrameDefault"))
                    || s.through(&["<module>"])
                    || s.through(&["_find_and_load"])
            };
            let (all, known) = (
                code.share(evaluated),
                code.share(|s| s.through(&["<module>"]) || s.through(&["_find_and_load"])),
            );
            claims.that(
                all > 0.3 && known > 0.8 * all,
                format!("{python}: of {all:.3} in the interpreter {known:.3} has functions"),
            );
            let imports = code.share(|s| s.through(&["_find_and_load", "_find_and_load_unlocked"]));
            claims.that(imports > 0.05, format!("{python}: imports are {imports:.3}"));
        });
    }
}

#[test]
fn frames_of_less_common_kinds_are_whole() {
    let script = source("forms.py");
    hold_code(&[], &[&python(), utf8(&script)], |_, code, claims| {
        let cpu = |names: &[&str]| code.cpu(|s| s.through(names)) / 1_000_000;
        for (what, names) in [
            ("the generator", &["<module>", "consumes", "produces", "spin"][..]),
            ("the coroutine", &["<module>", "run", "awaits", "awaited", "spin"]),
            ("the child", &["<module>", "of_a_child", "spin"]),
            ("the thread", &["Thread._bootstrap", "Thread.run", "of_a_thread", "spin"]),
            ("the recursion", &["descend", "descend", "descend", "descend", "spin"]),
        ] {
            let ms = cpu(names).max(if what == "the coroutine" {
                cpu(&["<module>", "Runner.run", "awaits", "awaited", "spin"])
            } else {
                0
            });
            claims.that((170..=240).contains(&ms), format!("{what} is {ms} ms, not 200"));
        }
        // A recursion of 500 is whole, or says that it is not.
        let deep = |s: &&Stack| s.waiting.is_none() && s.through(&["descend", "spin"]);
        for stack in code.stacks.iter().filter(deep) {
            let levels = stack.frames.iter().filter(|frame| *frame == "descend").count();
            let so = levels == 501 && stack.through(&["<module>", "descend"]) || stack.is_cut();
            claims.that(so, format!("{levels} levels of 501, and not said to be cut"));
        }
        let others = code.cpu(|s| s.through(&["spin"]) && !s.through(&["descend"]) && s.is_cut());
        claims.that(others < 10_000_000, format!("{others} ns of other stacks are cut"));
        let unnamed = code.text.matches("not described").count();
        claims.equal("frames without a name", unnamed, 0);
    });
}

#[test]
fn another_interpreter_is_called_by_its_name() {
    let _alone = support::alone();
    let (told, _) = coded(&[], &["perl", "-e", "$i++ while $i < 3000000"]);
    let sources = told.run["coverage"]["sources"].as_array().into_iter().flatten();
    let code =
        sources.into_iter().find(|source| source["name"] == "code").expect("code is among the sources");
    assert!(code["why"].as_str().is_some_and(|why| why.contains("Perl")), "{code}");
}
