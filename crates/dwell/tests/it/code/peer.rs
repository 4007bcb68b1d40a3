//! dwell's functions beside those of `perf record -g`, each on a run of its own.

use crate::support::kit::{Code, Stack, bare, done, hold_code, source};
use crate::support::{fresh, utf8};
use std::collections::BTreeMap;
use std::process::Command;

/// Share of samples by symbol, and how many samples there were, as perf reports them.
fn perf(command: &[&str]) -> (BTreeMap<String, f64>, f64) {
    let data = fresh("perf.data");
    let mut record = Command::new("perf");
    record.args(["record", "--quiet", "-F", "999", "-g", "-o", utf8(&data), "--"]).args(command);
    done(&mut record);
    let mut report = Command::new("perf");
    report.args([
        "report",
        "--stdio",
        "--no-children",
        "-g",
        "none",
        "--no-inline",
        "-F",
        "sample,sym",
        "-t",
        "|",
    ]);
    let output = report.args(["-i", utf8(&data)]).output().expect("perf starts");
    let _ = std::fs::remove_file(data);
    let mut samples = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines().filter(|line| !line.starts_with('#')) {
        let Some((count, symbol)) = line.split_once('|') else { continue };
        let (Ok(count), Some((_, name))) = (count.trim().parse::<f64>(), symbol.trim().split_once("] "))
        else {
            continue;
        };
        *samples.entry(source_name(name.trim()).to_owned()).or_default() += count;
    }
    let all: f64 = samples.values().sum();
    assert!(all > 500.0, "perf has {all} samples: {}", String::from_utf8_lossy(&output.stderr));
    (samples.into_iter().map(|(name, count)| (name, count / all)).collect(), all)
}

/// The name without what the compiler adds where it optimises across files or changes arguments:
/// dwell has names from debugging information, which knows nothing of that.
fn source_name(symbol: &str) -> &str {
    let added = [".lto_priv.", ".constprop.", ".isra.", ".part."];
    let at = added.iter().filter_map(|suffix| symbol.find(suffix)).min();
    at.map_or(symbol, |at| &symbol[..at])
}

/// Half the width of a share's 95 % interval.
fn margin(share: f64, samples: f64) -> f64 {
    1.96 * (share * (1.0 - share) / samples).sqrt() + 1.0 / samples
}

/// The symbol that a stack ends in, which is what perf knows: what is inlined is its caller's, and
/// a function of Python is the interpreter's.
fn symbol(stack: &Stack, scripted: &[&str]) -> String {
    let outermost = stack.frames.iter().rev().find(|frame| !frame.ends_with("_[i]"));
    let name = outermost.map_or("", |frame| bare(frame));
    if scripted.contains(&name) { "_PyEval_EvalFrameDefault".to_owned() } else { name.to_owned() }
}

fn by_symbol(code: &Code, scripted: &[&str]) -> BTreeMap<String, f64> {
    let mut shares = BTreeMap::<String, f64>::new();
    let all = code.cpu(|_| true) as f64;
    for stack in code.stacks.iter().filter(|stack| stack.waiting.is_none()) {
        *shares.entry(symbol(stack, scripted)).or_default() += stack.ns as f64 / all;
    }
    shares
}

/// The top five of dwell are where perf has them, and the other way round.
fn agree(command: &[&str], scripted: &[&str]) {
    hold_code(&["--rate", "999"], command, |_, code, claims| {
        // `hold_code` keeps other tests away meanwhile.
        let (theirs, samples) = perf(command);
        let ours = by_symbol(code, scripted);
        let worth = code.cpu(|_| true) as f64 * 999e-9;
        claims.that(worth > 1900.0, format!("{worth} samples are under two seconds"));
        for (one, other) in [(&ours, &theirs), (&theirs, &ours)] {
            let mut top: Vec<_> = one.iter().collect();
            top.sort_by(|a, b| b.1.total_cmp(a.1));
            for (name, share) in top.into_iter().take(5) {
                let beside = other.get(name).copied().unwrap_or(0.0);
                let room = margin(*share, worth) + margin(beside, samples);
                let off = (share - beside).abs();
                claims.that(
                    off <= room,
                    format!("{name}: {share:.4} beside {beside:.4}, with room for {room:.4}"),
                );
            }
        }
    });
}

#[test]
fn the_top_functions_of_an_interpreter_are_where_perf_has_them() {
    let python = crate::support::kit::python();
    let script = source("shares.py");
    agree(&[&python, utf8(&script), "2.2"], &["adds", "joins", "outer", "main", "<module>"]);
}
