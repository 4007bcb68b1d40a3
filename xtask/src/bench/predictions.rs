//! `cargo xtask bench predictions`: whether the first finding of `dwell run` is the cause that a
//! program has, and whether what it predicts is what the change really saves.
//!
//! Each program of `bench/pairs.c` does something in a slow way, and the same work without it. The
//! slow one is run under dwell, then `dwell compare` measures both. A predicted interval is scored
//! as in T. Gneiting and A. Raftery, "Strictly proper scoring rules, prediction, and estimation"
//! (2007), section 6.2: its width, and 2/alpha times what it misses by; beside it the rule to beat,
//! which always says between a third of the share and all of it.

use super::program::compile;
use super::table::layout;
use super::{install, load, machine};
use crate::shell::{output, program};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};

/// A program of `bench/pairs.c`, with the cause that it has: judged before any run.
struct Pair {
    name: &'static str,
    cause: &'static str,
}

const PAIRS: [Pair; 13] = [
    Pair { name: "syncs", cause: "sync-writes" },
    Pair { name: "small-writes", cause: "small-io" },
    Pair { name: "lookups", cause: "metadata-calls" },
    Pair { name: "locks", cause: "lock-contention" },
    Pair { name: "polls", cause: "sleep-polling" },
    Pair { name: "spawns", cause: "process-spawning" },
    Pair { name: "list", cause: "single-thread" },
    Pair { name: "faults", cause: "page-faults" },
    Pair { name: "switches", cause: "context-switching" },
    Pair { name: "requests", cause: "serial-requests" },
    Pair { name: "parts", cause: "delayed-ack" },
    Pair { name: "scans", cause: "hot-code" },
    Pair { name: "chase", cause: "memory-latency" },
];

/// An interval is meant to hold in at least 1 - alpha of the cases.
const ALPHA: f64 = 0.2;

/// Pairs of runs in each comparison.
const COMPARED: &str = "8";

struct Options {
    markdown: bool,
    sittings: usize,
    pairs: Vec<&'static Pair>,
    dwell: Option<PathBuf>,
}

/// What dwell said of one run, and what was measured; times are parts of the wall of that run, and
/// of the slow ones that were measured.
struct Sitting {
    first: String,
    /// Of the finding of the expected cause, where there is one.
    predicted: Option<(f64, f64)>,
    share: f64,
    saved: f64,
}

/// Measures and prints the table.
///
/// # Errors
/// For options that are not understood, and when dwell or a program fails.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let options = options(arguments)?;
    let place = install(options.dwell.as_deref())?;
    compile(&place, "pairs")?;
    let server = Server::new(&place)?;
    let begun = load();
    let mut rows = vec![
        [
            "program",
            "cause",
            "found first",
            "predicted, % of the wall",
            "measured",
            "held",
            "score",
            "rule's score",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    let mut all = Vec::new();
    for pair in &options.pairs {
        let mut sittings = Vec::new();
        for at in 0..options.sittings {
            eprint!("\r{}: {} of {}   ", pair.name, at + 1, options.sittings);
            sittings.push(sitting(&place, pair, &server)?);
        }
        eprintln!();
        rows.push(row(pair, &sittings));
        all.extend(sittings.into_iter().map(|sitting| (pair.cause, sitting)));
    }
    println!("{}", layout(&rows, options.markdown));
    println!("{}", summary(&all));
    println!("Measured on {}.", machine(&begun));
    Ok(())
}

/// One run under dwell, and one comparison.
fn sitting(place: &Path, pair: &Pair, server: &Server) -> Result<Sitting> {
    let command = |way: &str| {
        let pairs = place.join("pairs");
        [pairs.to_string_lossy().as_ref(), pair.name, way, &server.port].map(str::to_owned)
    };
    let (slow, fixed) = (command("slow"), command("fixed"));
    let mut watched = program(place.join("dwell"), &["run", "--quiet", "--json", "-", "--"]);
    let said = output(watched.args(&slow).current_dir(place))?;
    let run: Value = serde_json::from_str(&said).context("dwell run wrote no JSON")?;
    let mut compared =
        program(place.join("dwell"), &["compare", "--quiet", "--json", "-", "--pairs", COMPARED]);
    let said = output(compared.args([slow.join(" "), fixed.join(" ")]).current_dir(place))?;
    let compared: Value = serde_json::from_str(&said).context("dwell compare wrote no JSON")?;
    let number = |value: &Value| value.as_f64().with_context(|| format!("{value} is no number"));
    let (difference, ratio) =
        (&compared["comparisons"][0]["difference"], &compared["comparisons"][0]["ratio"]["estimate"]);
    let saved_ns = -number(&difference["estimate"])?;
    // The wall clock of the slow one, from the ratio: a - b = saved, b / a = ratio.
    let wall_ns = saved_ns / (1.0 - number(ratio)?);
    let findings = run["findings"].as_array().context("no findings")?;
    let expected = findings.iter().find(|finding| finding["cause"] == pair.cause);
    // Each in parts of its own wall: under dwell, or beside other programs, a run may take longer.
    let own_ns = number(&run["wall_ns"])?;
    let predicted = expected.and_then(|finding| {
        let saving = &finding["saving_ns"];
        Some((saving["lo"].as_f64()? / own_ns, saving["hi"].as_f64()? / own_ns))
    });
    let first = findings.first().and_then(|finding| finding["cause"].as_str()).unwrap_or("nothing");
    let share = findings.first().and_then(|finding| finding["share"]["hi"].as_f64()).unwrap_or(0.0);
    Ok(Sitting { first: first.to_owned(), predicted, share, saved: saved_ns / wall_ns })
}

impl Sitting {
    fn held(&self) -> bool {
        self.predicted.is_some_and(|(lo, hi)| (lo..=hi).contains(&self.saved))
    }

    /// Nothing predicted is an interval of nothing.
    fn score(&self) -> f64 {
        score(self.predicted.unwrap_or((0.0, 0.0)), self.saved)
    }

    fn rule_score(&self) -> f64 {
        score((self.share / 3.0, self.share), self.saved)
    }
}

/// The width of an interval, and what it misses by.
fn score((lo, hi): (f64, f64), truth: f64) -> f64 {
    (hi - lo) + 2.0 / ALPHA * ((lo - truth).max(0.0) + (truth - hi).max(0.0))
}

fn row(pair: &Pair, sittings: &[Sitting]) -> Vec<String> {
    let count = |is: &dyn Fn(&Sitting) -> bool| {
        format!("{} of {}", sittings.iter().filter(|sitting| is(sitting)).count(), sittings.len())
    };
    let mean = |of: &dyn Fn(&Sitting) -> f64| stats::mean(&sittings.iter().map(of).collect::<Vec<_>>());
    let predicted: Vec<(f64, f64)> = sittings.iter().filter_map(|sitting| sitting.predicted).collect();
    let percent = |part: f64| format!("{:.0}", part * 100.0);
    let ends = if predicted.is_empty() {
        "nothing".to_owned()
    } else {
        let mean = |of: fn(&(f64, f64)) -> f64| stats::mean(&predicted.iter().map(of).collect::<Vec<_>>());
        format!("{} to {}", percent(mean(|ends| ends.0)), percent(mean(|ends| ends.1)))
    };
    let mut others: Vec<&str> =
        sittings.iter().map(|sitting| sitting.first.as_str()).filter(|first| *first != pair.cause).collect();
    others.sort_unstable();
    others.dedup();
    let first = count(&|sitting| sitting.first == pair.cause);
    vec![
        pair.name.to_owned(),
        pair.cause.to_owned(),
        if others.is_empty() { first } else { format!("{first}; {}", others.join(", ")) },
        ends,
        percent(mean(&|sitting| sitting.saved)),
        count(&Sitting::held),
        format!("{:.2}", mean(&Sitting::score)),
        format!("{:.2}", mean(&Sitting::rule_score)),
    ]
}

fn summary(all: &[(&str, Sitting)]) -> String {
    let count = |is: &dyn Fn(&(&str, Sitting)) -> bool| all.iter().filter(|one| is(one)).count();
    let mean = |of: fn(&Sitting) -> f64| {
        stats::mean(&all.iter().map(|(_, sitting)| of(sitting)).collect::<Vec<_>>())
    };
    format!(
        "Of {} sittings the expected cause is the first finding in {}; the predicted interval holds what was \
         measured in {}. Mean score {:.2}, of the rule {:.2}.",
        all.len(),
        count(&|(cause, sitting)| sitting.first == *cause),
        count(&|(_, sitting)| sitting.held()),
        mean(Sitting::score),
        mean(Sitting::rule_score)
    )
}

/// The peer of the programs that need one. It ends with its standard input.
struct Server {
    process: Child,
    _input: ChildStdin,
    port: String,
}

impl Server {
    fn new(place: &Path) -> Result<Self> {
        let mut server = program(place.join("pairs"), &["server"]);
        let mut process =
            server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start the server")?;
        let input = process.stdin.take().context("no input")?;
        let mut port = String::new();
        BufReader::new(process.stdout.take().context("no output")?).read_line(&mut port)?;
        ensure!(port.trim().parse::<u16>().is_ok(), "the server printed {port:?}");
        Ok(Self { process, _input: input, port: port.trim().to_owned() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn options(arguments: &[&str]) -> Result<Options> {
    let mut options = Options { markdown: false, sittings: 3, pairs: Vec::new(), dwell: None };
    let mut rest = arguments.iter();
    while let Some(&word) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{word} wants a value"));
        match word {
            "--markdown" => options.markdown = true,
            "--dwell" => options.dwell = Some(PathBuf::from(value()?)),
            "--sittings" => {
                let given = value()?;
                options.sittings =
                    given.parse().with_context(|| format!("--sittings {given} is not a number"))?;
                if options.sittings == 0 {
                    bail!("--sittings 0 measures nothing");
                }
            }
            name => {
                let names: Vec<_> = PAIRS.iter().map(|pair| pair.name).collect();
                let known = || format!("no pair {name}; there are {}", names.join(", "));
                options.pairs.push(PAIRS.iter().find(|pair| pair.name == name).with_context(known)?);
            }
        }
    }
    if options.pairs.is_empty() {
        options.pairs.extend(&PAIRS);
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_scored_by_its_width_and_ten_times_what_it_misses_by() {
        assert!((score((0.25, 0.75), 0.5) - 0.5).abs() < 1e-9);
        assert!((score((0.25, 0.75), 0.875) - 1.75).abs() < 1e-9);
        assert!((score((0.25, 0.75), 0.125) - 1.75).abs() < 1e-9);
    }

    #[test]
    fn pairs_are_by_name_and_all_of_them_if_none_is_named() {
        assert_eq!(options(&[]).unwrap().pairs.len(), PAIRS.len());
        let given = options(&["locks", "--sittings", "2"]).unwrap();
        assert_eq!((given.pairs[0].cause, given.sittings), ("lock-contention", 2));
        assert!(options(&["whence"]).err().unwrap().to_string().contains("whence"));
        assert!(options(&["--sittings", "0"]).is_err());
    }
}
