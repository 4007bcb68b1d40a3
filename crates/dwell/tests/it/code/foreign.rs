//! Languages other than C: their names, their inlined functions, and how their stacks are followed.

use crate::support::kit::{build, done, hold_code, line_of, source};
use crate::support::{fresh, utf8};
use std::process::Command;

#[test]
fn cpp_has_its_names_back_also_below_exceptions() {
    let program =
        build(&["c++", "-O2", "-g", "-fomit-frame-pointer"], &[&source("templates.cpp")], &[], "templates");
    hold_code(&[], &[utf8(&program)], |_, code, claims| {
        // 250, 150 and 200 ms.
        for (name, want) in [("shop::Shelf<long>::count", 0.417), ("shop::Shelf<double>::count", 0.25)] {
            let (full, row) =
                code.functions().into_iter().find(|(full, _)| full.starts_with(name)).unwrap_or_default();
            claims.that(
                row.total > 0.75 * want && row.total < 1.15 * want,
                format!("{name} is {:.3}", row.total),
            );
            let chain = code.share(|s| s.leaf() == full && s.chain(&["main", &full]));
            claims.that(chain >= 0.99 * row.share, format!("{name} is called from main for {chain:.3}"));
            let line = line_of("templates.cpp", "line of count");
            let lines = code.lines().into_iter();
            let share: f64 =
                lines.filter(|l| l.2 == full && (line - 1..=line).contains(&l.1)).map(|l| l.4.share).sum();
            claims.that(share > 0.9 * row.share, format!("the lines of {name} are {share:.3}"));
        }
        // What throws stands below eleven calls of the function that threw, and they below main.
        let through = |name: &str| code.share(|s| s.frames.iter().any(|frame| frame.starts_with(name)));
        claims.that(through("_Unwind_RaiseException") > 0.1, "the unwinding of exceptions is not seen");
        let thrown = code.share(|s| s.through(&["__cxa_throw"]));
        let from = code.share(|s| {
            let refuses = s.frames.iter().filter(|frame| frame.starts_with("shop::refuse")).count();
            s.through(&["main", "__cxa_throw"]) && refuses > 0
        });
        claims.that(
            thrown > 0.1 && from > 0.95 * thrown,
            format!("{from:.3} of {thrown:.3} thrown is below main"),
        );
    });
}

#[test]
fn rust_has_generic_and_inlined_functions_with_lines() {
    let compiler =
        ["rustc", "--edition", "2021", "-C", "opt-level=3", "-C", "debuginfo=2", "--crate-name", "inlined"];
    let program = build(&compiler, &[&source("inlined.rs")], &[], "inlined");
    hold_code(&[], &[utf8(&program)], |_, code, claims| {
        let stack = |s: &crate::support::kit::Stack| {
            let at = |name: &str| s.frames.iter().position(|frame| frame.contains(name));
            (at("inlined::main"), at("Worker>::work"), at("sum_up"), at("scatter_[i]"))
        };
        let whole = code.share(|s| stack(s).0.is_some());
        claims.that(whole > 0.9, format!("{whole:.3} is below main"));
        let summed = code.share(|s| {
            let (main, work, sum, _) = stack(s);
            main < work && work < sum && main.is_some()
        });
        claims.that(summed > 0.85, format!("{summed:.3} is below main, work and sum_up"));
        let scattered = code.share(|s| stack(s).2.is_some() && stack(s).2 < stack(s).3);
        claims.that(scattered > 0.2, format!("{scattered:.3} is in the inlined function"));
        let line = line_of("inlined.rs", "line of scatter");
        let share: f64 = code
            .lines()
            .iter()
            .filter(|l| l.0.ends_with("inlined.rs") && l.1 == line && l.2.ends_with("scatter"))
            .map(|l| l.4.total)
            .sum();
        claims.that(share > 0.2, format!("the inlined line is {share:.3}"));
        let mangled: Vec<_> = code
            .functions()
            .into_iter()
            .filter(|(name, _)| name.contains("_ZN") || name.starts_with("_R"))
            .collect();
        claims.that(mangled.is_empty(), format!("mangled names: {mangled:?}"));
    });
}

#[test]
fn go_has_its_goroutines() {
    let program = fresh("routines");
    let mut go = Command::new("go");
    go.args(["build", "-o", utf8(&program), utf8(&source("routines.go"))]).env("GO111MODULE", "off");
    done(go.env("GOCACHE", crate::support::scratch().join("go")));
    hold_code(&[], &[utf8(&program)], |_, code, claims| {
        let main = code.share(|s| s.chain(&["main.main", "main.work", "main.dig"]));
        let toil = code.share(|s| s.through(&["main.crew.toil", "main.work", "main.dig"]));
        let dig = code.function("main.dig").share;
        claims.that(main > 0.3 && toil > 0.3, format!("main.main is {main:.3}, main.crew.toil is {toil:.3}"));
        claims.that(
            (main + toil - dig).abs() < 0.02,
            format!("main.dig is {dig:.3}, and {:.3} of it is known", main + toil),
        );
        let line = code.lines().into_iter().find(|l| l.2 == "main.dig");
        claims.that(line.is_some_and(|l| l.0.ends_with("routines.go")), "no line of main.dig");
        // The outermost function of a thread of Go's runtime returns to nowhere, which is no broken
        // stack.
        let cut: Vec<_> =
            code.stacks.iter().filter(|s| s.is_cut() && s.through(&["runtime.mstart"])).collect();
        claims.that(cut.is_empty(), format!("cut: {:?}", cut.first()));
    });
    std::fs::remove_file(program).expect("the program can be removed");
}

#[test]
fn a_jit_that_writes_a_perf_map_has_its_names() {
    let script = source("hot.js");
    // In a directory of its own, where Node.js leaves its logs.
    let dir = fresh("node");
    std::fs::create_dir_all(&dir).expect("a directory in the scratch directory");
    let command = ["env", "-C", utf8(&dir), "node", "--perf-basic-prof", utf8(&script)];
    hold_code(&[], &command, |told, code, claims| {
        let of = |name: &str| {
            let row =
                code.functions().into_iter().find(|(full, row)| full.contains(name) && row.module == "[jit]");
            row.map_or(0.0, |(_, row)| row.share)
        };
        // One may be inlined into the other.
        let (scatter, turn) = (of("scatter"), of("turn"));
        claims.that(scatter + turn > 0.3, format!("scatter is {scatter:.3}, turn is {turn:.3}"));
        let called = code
            .share(|s| s.frames.iter().any(|f| f.contains("scatter") && f.ends_with("_[j]")) && !s.is_cut());
        claims.that(
            called > 0.9 * scatter,
            format!("{called:.3} of scatter's stacks reach the outermost function"),
        );
        let of_node = code
            .share(|s| s.frames.iter().any(|f| f.contains("node::Start")) && s.leaf().contains("scatter"));
        claims.that(of_node > 0.9 * scatter, format!("{of_node:.3} of scatter is called from node::Start"));
        // It has names, so it is not said to have none.
        let sources = &told.run["coverage"]["sources"];
        let code = sources.as_array().into_iter().flatten().find(|source| source["name"] == "code");
        claims.that(code.is_some_and(|code| code["seen"] == "full"), format!("coverage: {code:?}"));
    });
    std::fs::remove_dir_all(dir).expect("the directory can be removed");
}
