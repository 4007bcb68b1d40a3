//! `cargo xtask bench loads`: what dwell's loads get done, compared with hackbench and
//! stressapptest with the same sizes.
//!
//! The two are run right after each other, first the one and in the next round the other. Each
//! ratio is of one round, so that what drifts on the machine drifts for both.

use super::install;
use super::table::Middle;
use crate::{Measuring, one_of};
use anyhow::{Context, Result};
use clap::{Args, value_parser};
use model::wake::load::LoadRun;
use std::path::Path;
use workshop::machine::{conditions, load};
use workshop::shell::{find, output, program as shell_program};
use workshop::table::layout;

const ROUNDS: usize = 11;
const SECONDS: u64 = 3;
/// A load is as good as the other from this part of its rate on.
const GOAL: f64 = 0.95;
/// hackbench's groups, and the senders and receivers of one.
const GROUPS: f64 = 10.0;
const PAIRS: f64 = 20.0;

/// A load of dwell's and how the other tool is asked for the same.
struct Pair {
    name: &'static str,
    spec: &'static str,
    rival: Rival,
}

#[derive(Clone, Copy)]
enum Rival {
    /// With these options in addition to the number of loops.
    Hackbench(&'static [&'static str]),
    /// With these options in addition to the time.
    Stressapptest(&'static [&'static str]),
}

const PAIRS_OF_LOADS: &[Pair] = &[
    Pair {
        name: "sched",
        spec: "sched:groups=10,message=100",
        rival: Rival::Hackbench(&["-g", "10", "-s", "100"]),
    },
    Pair {
        name: "sched-128",
        spec: "sched:groups=10,message=128",
        rival: Rival::Hackbench(&["-g", "10", "-s", "128"]),
    },
    Pair {
        name: "sched-pipes",
        spec: "sched:groups=10,message=100,transport=pipes",
        rival: Rival::Hackbench(&["-g", "10", "-s", "100", "--pipe"]),
    },
    Pair {
        name: "sched-threads",
        spec: "sched:groups=10,message=100,workers=threads",
        rival: Rival::Hackbench(&["-g", "10", "-s", "100", "--threads"]),
    },
    Pair {
        name: "memory-2",
        spec: "memory:threads=2,size=256MiB",
        rival: Rival::Stressapptest(&["-M", "256", "-m", "2"]),
    },
    Pair {
        name: "memory-8",
        spec: "memory:threads=8,size=256MiB",
        rival: Rival::Stressapptest(&["-M", "256", "-m", "8"]),
    },
    Pair {
        name: "memory-2-warm",
        spec: "memory:threads=2,size=256MiB",
        rival: Rival::Stressapptest(&["-M", "256", "-m", "2", "-W"]),
    },
];

impl Rival {
    fn program(self) -> &'static str {
        match self {
            Self::Hackbench(_) => "hackbench",
            Self::Stressapptest(_) => "stressapptest",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Hackbench(_) => "rt-tests",
            Self::Stressapptest(_) => "stressapptest",
        }
    }

    fn shown(self) -> String {
        let (Self::Hackbench(options) | Self::Stressapptest(options)) = self;
        format!("{} {}", self.program(), options.join(" "))
    }

    /// What it gets done in a second: messages or bytes. It has no time of its own where it counts
    /// loops: `loops` are for about as long as dwell has.
    fn per_second(self, loops: u64, seconds: u64) -> Result<f64> {
        match self {
            Self::Hackbench(options) => {
                let mut command = shell_program("hackbench", options);
                hackbench_said(&output(command.args(["-l", &loops.to_string()]))?, loops)
            }
            Self::Stressapptest(options) => {
                let mut command = shell_program("stressapptest", options);
                stressapptest_said(&output(command.args(["-s", &seconds.to_string()]))?)
            }
        }
    }
}

/// `Time: 0.842`, from when all may begin to when all have ended.
fn hackbench_said(said: &str, loops: u64) -> Result<f64> {
    let line = said.lines().find_map(|line| line.strip_prefix("Time:")).context("hackbench says no time")?;
    let seconds: f64 = line.trim().parse().context("hackbench's time is no number")?;
    Ok(GROUPS * PAIRS * PAIRS * loops as f64 / seconds)
}

/// `Stats: Memory Copy: 51312.00M at 10260.06MB/s`, in which reading and writing a byte counts as
/// two, and a megabyte is 2^20.
fn stressapptest_said(said: &str) -> Result<f64> {
    let line = said.lines().find_map(|line| line.split_once("Stats: Memory Copy: "));
    let (_, figures) = line.context("stressapptest says no rate of copies")?;
    let rate = figures.split_once(" at ").and_then(|(_, rate)| rate.split("MB/s").next());
    let rate: f64 = rate.context("stressapptest says no rate")?.trim().parse()?;
    Ok(rate * f64::from(1 << 20) / 2.0)
}

#[derive(Args)]
pub(super) struct Options {
    /// Rounds of each
    #[arg(long, value_name = "N", value_parser = crate::some(), default_value_t = ROUNDS)]
    rounds: usize,
    /// Seconds of each measurement
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), default_value_t = SECONDS)]
    seconds: u64,
    #[command(flatten)]
    measuring: Measuring,
    /// Loads [default: all]
    #[arg(value_name = "LOAD", value_parser = one_of(PAIRS_OF_LOADS, |pair| pair.name))]
    only: Vec<&'static Pair>,
}

/// Measures and prints the table.
///
/// # Errors
/// When dwell or a rival fails.
pub(super) fn run(options: &Options) -> Result<()> {
    let dwell = install(options.measuring.dwell.as_deref())?.join("dwell");
    let before = load();
    let head = ["load", "dwell", "compared with", "its figure", "ratio", "goal", ""].map(str::to_owned);
    let mut rows = vec![head.to_vec()];
    let wanted =
        |pair: &&Pair| options.only.is_empty() || options.only.iter().any(|only| only.name == pair.name);
    for pair in PAIRS_OF_LOADS.iter().filter(wanted) {
        if find(pair.rival.program()).is_none() {
            eprintln!(
                "{} is not installed; try: apt-get install {}",
                pair.rival.program(),
                pair.rival.package()
            );
            continue;
        }
        // Once unmeasured, which also says how many loops hackbench makes in the time.
        let messages = dwell_per_second(&dwell, pair.spec, options.seconds)? * options.seconds as f64;
        let loops = (messages / (GROUPS * PAIRS * PAIRS)).max(1.0) as u64;
        let mut rounds = Vec::new();
        for round in 0..options.rounds {
            eprint!("\r\x1b[K{}: round {} of {}", pair.name, round + 1, options.rounds);
            let ours = || dwell_per_second(&dwell, pair.spec, options.seconds);
            let theirs = || pair.rival.per_second(loops, options.seconds);
            rounds.push(if round % 2 == 0 {
                let ours = ours()?;
                (ours, theirs()?)
            } else {
                let theirs = theirs()?;
                (ours()?, theirs)
            });
        }
        rows.push(row(pair, &rounds)?);
    }
    eprintln!();
    println!("{}", layout(&rows, options.measuring.markdown));
    println!(
        "Ratios are dwell's rate by the other's, of one round: median, with its 95 % interval from 6 rounds on (else smallest \
         and\nlargest), of {} rounds of about {} s each. Measured on {}.",
        options.rounds,
        options.seconds,
        conditions(&before)
    );
    Ok(())
}

fn dwell_per_second(dwell: &Path, spec: &str, seconds: u64) -> Result<f64> {
    let said = output(&mut shell_program(
        dwell,
        &["load", "--quiet", "--json", "-", "--for", &format!("{seconds}s"), spec],
    ))?;
    let LoadRun { result, .. } = serde_json::from_str(&said).context("dwell's JSON cannot be read")?;
    Ok(result.done as f64 / (result.ran_ns as f64 / 1e9))
}

fn row(pair: &Pair, rounds: &[(f64, f64)]) -> Result<Vec<String>> {
    let of = |values: Vec<f64>| Middle::of(values).context("there are no rounds");
    let ours = of(rounds.iter().map(|(ours, _)| *ours).collect())?;
    let theirs = of(rounds.iter().map(|(_, theirs)| *theirs).collect())?;
    let ratio = of(rounds.iter().map(|(ours, theirs)| ours / theirs).collect())?;
    let figure = |rate: f64| match pair.rival {
        Rival::Hackbench(_) => format!("{:.0} k messages/s", rate / 1e3),
        Rival::Stressapptest(_) => format!("{:.0} MiB/s", rate / f64::from(1 << 20)),
    };
    Ok(vec![
        pair.name.to_owned(),
        figure(ours.median),
        pair.rival.shown(),
        figure(theirs.median),
        format!("{:.3} ({:.3}-{:.3})", ratio.median, ratio.lo, ratio.hi),
        format!(">= {GOAL}"),
        if ratio.median >= GOAL { "reached" } else { "NOT reached" }.to_owned(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    #[test]
    fn what_rivals_say_is_read() {
        let hackbench =
            "Running in process mode with 10 groups\nEach sender will pass 100 messages\nTime: 0.800\n";
        assert!((hackbench_said(hackbench, 100).unwrap() - 500_000.0).abs() < 1.0);
        let copies = "2026/01/01-10:00:00(UTC) Stats: Memory Copy: 51312.00M at 10260.06MB/s\n";
        let expected = 10260.06 / 2.0 * 1_048_576.0;
        assert!((stressapptest_said(copies).unwrap() - expected).abs() < 1.0);
        assert!(hackbench_said("", 1).is_err() && stressapptest_said("Stats: x").is_err());
    }

    #[test]
    fn loads_are_chosen_by_name_and_others_refused() {
        let options: Options = read(&["memory-2", "--rounds", "3"]).unwrap();
        assert_eq!((options.only[0].name, options.rounds), ("memory-2", 3));
        for wrong in [&["tea"][..], &["--rounds"], &["--seconds", "0"]] {
            assert!(read::<Options>(wrong).is_err());
        }
    }

    #[test]
    fn a_row_has_both_rates_and_judges_the_median_ratio() {
        let rounds = [(95.0e6, 100.0e6), (97.0e6, 100.0e6), (99.0e6, 100.0e6)];
        let row = row(&PAIRS_OF_LOADS[4], &rounds).unwrap();
        assert_eq!(row[4..], ["0.970 (0.950-0.990)", ">= 0.95", "reached"]);
        let row = super::row(&PAIRS_OF_LOADS[0], &[(94.0e3, 100.0e3)]).unwrap();
        assert_eq!(row[1..4], ["94 k messages/s", "hackbench -g 10 -s 100", "100 k messages/s"]);
        assert_eq!(row[6], "NOT reached");
    }
}
