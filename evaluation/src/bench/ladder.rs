//! `cargo xtask bench ladder`: rungs of `dwell ladder` compared with other tools on the same
//! operation.
//!
//! dwell and the other are run right after each other, first the one and in the next round the
//! other, on the same CPU, in the same directory, with memory and files of the same size. Each
//! ratio is of one round, so that what drifts on the machine drifts for both.

use super::install;
use super::rivals::{
    FLUSH, RANDOM_READ, READS_AT_ONCE, Rival, SEQUENTIAL_READ, SEQUENTIAL_WRITE, Setting, clear, median_ns,
    middle,
};
use crate::{Measuring, one_of};
use anyhow::{Context, Result};
use clap::Args;
use model::Ladder;
use std::collections::BTreeSet;
use std::path::PathBuf;
use workshop::machine::{conditions, load};
use workshop::shell::{output, program as shell_program};
use workshop::table::layout;

const ROUNDS: usize = 7;

/// A rung and another way to measure it.
struct Pair {
    rung: &'static str,
    rival: Rival,
    goal: Goal,
}

/// When the two agree.
#[derive(Clone, Copy)]
enum Goal {
    /// The median ratio is no farther from 1.
    Within(f64),
    /// 1 lies between the smallest and the largest ratio of the rounds.
    Spread,
}

const PAIRS: &[Pair] = &[
    Pair { rung: "l1", rival: Rival::WholeCycles, goal: Goal::Within(0.02) },
    Pair { rung: "l2", rival: Rival::WholeCycles, goal: Goal::Within(0.02) },
    Pair { rung: "l1", rival: Rival::Chase, goal: Goal::Within(0.02) },
    Pair { rung: "l2", rival: Rival::Chase, goal: Goal::Within(0.02) },
    Pair { rung: "l3", rival: Rival::Chase, goal: Goal::Within(0.05) },
    Pair { rung: "dram", rival: Rival::Chase, goal: Goal::Within(0.05) },
    Pair { rung: "system-call", rival: Rival::Getppid, goal: Goal::Spread },
    Pair { rung: "system-call", rival: Rival::PerfSyscall, goal: Goal::Spread },
    Pair { rung: "pipe-round-trip", rival: Rival::PerfPipe, goal: Goal::Spread },
    Pair { rung: "fsync", rival: Rival::Fio(FLUSH), goal: Goal::Spread },
    Pair { rung: "direct-read", rival: Rival::Fio(RANDOM_READ), goal: Goal::Spread },
    Pair { rung: "direct-read", rival: Rival::Ioping, goal: Goal::Spread },
    Pair { rung: "direct-read-32", rival: Rival::Fio(READS_AT_ONCE), goal: Goal::Spread },
    Pair { rung: "sequential-read", rival: Rival::Fio(SEQUENTIAL_READ), goal: Goal::Spread },
    Pair { rung: "sequential-write", rival: Rival::Fio(SEQUENTIAL_WRITE), goal: Goal::Spread },
    Pair { rung: "udp-round-trip", rival: Rival::SockperfUdp, goal: Goal::Spread },
    Pair { rung: "tcp-round-trip", rival: Rival::SockperfTcp, goal: Goal::Spread },
];

/// What one round gave, in ns.
#[derive(Debug, Clone, Copy)]
struct Round {
    dwell: f64,
    rival: f64,
}

#[derive(Args)]
pub(super) struct Options {
    /// Rounds of each
    #[arg(long, value_name = "N", value_parser = crate::some(), default_value_t = ROUNDS)]
    rounds: usize,
    #[command(flatten)]
    measuring: Measuring,
    /// Where files are made
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Rungs [default: all]
    #[arg(value_name = "RUNG", value_parser = one_of(PAIRS, |pair| pair.rung))]
    only: Vec<&'static Pair>,
}

/// Measures and prints the table.
///
/// # Errors
/// When dwell fails. A rival that is not there or fails is
/// said.
pub(super) fn run(options: &Options) -> Result<()> {
    let place = install(options.measuring.dwell.as_deref())?;
    let dir = options.dir.clone().unwrap_or_else(|| place.clone());
    let mut notes = BTreeSet::new();
    let mut setting = Setting { place, dir, home: 0, other: 0 };
    // Once unmeasured: it says which CPUs it uses.
    (setting.home, setting.other) = cpus(&dwell(&["cycle"], &setting)?.machine.cpus_allowed)?;
    let mut pairs: Vec<(&Pair, Vec<Round>)> = Vec::new();
    for pair in PAIRS
        .iter()
        .filter(|pair| options.only.is_empty() || options.only.iter().any(|only| only.rung == pair.rung))
    {
        match pair.rival.missing() {
            Some(remedy) => _ = notes.insert(remedy),
            None => {
                if !pairs.iter().any(|(other, _)| other.rival == pair.rival) {
                    pair.rival.prepare(&setting.place)?;
                }
                pairs.push((pair, Vec::new()));
            }
        }
    }
    let before = load();
    for round in 0..options.rounds {
        for (pair, rounds) in &mut pairs {
            eprint!(
                "\r\x1b[Kround {} of {}: {}, {}",
                round + 1,
                options.rounds,
                pair.rung,
                pair.rival.name()
            );
            match measure(pair, round % 2 == 1, &setting) {
                Ok(one) => rounds.push(one),
                Err(error) => _ = notes.insert(format!("{}, {}: {error:#}", pair.rung, pair.rival.name())),
            }
        }
    }
    eprintln!();
    clear(&setting.dir);
    println!("{}", layout(&rows(&pairs), options.measuring.markdown));
    println!(
        "Ratios are dwell's figure by the other's, of one round: median (smallest-largest). Measured on {},\n\
         files in {}.",
        conditions(&before),
        setting.dir.display()
    );
    notes.iter().for_each(|note| println!("note: {note}"));
    Ok(())
}

/// One round. The order alternates: the first finds a colder machine.
fn measure(pair: &Pair, rival_first: bool, setting: &Setting) -> Result<Round> {
    let rungs: &[&str] = if pair.rival == Rival::WholeCycles { &["cycle", pair.rung] } else { &[pair.rung] };
    let mut ladder = dwell(rungs, setting)?;
    let rival = pair.rival.figure_ns(pair.rung, &ladder.rungs, setting)?;
    // Only dwell says the sizes, so that the first of two is run again, after the other.
    if rival_first && pair.rival != Rival::WholeCycles {
        ladder = dwell(rungs, setting)?;
    }
    Ok(Round { dwell: median_ns(&ladder.rungs, pair.rung)?, rival })
}

fn dwell(rungs: &[&str], setting: &Setting) -> Result<Ladder> {
    let mut command = shell_program(
        setting.place.join("dwell"),
        &["ladder", "--quick", "--json", "-", "--only", &rungs.join(","), "--dir"],
    );
    let said = output(command.arg(&setting.dir))?;
    serde_json::from_str(&said).context("dwell's JSON cannot be read")
}

/// The last that dwell may use, where its rungs run; and the last but one, where the other end is.
fn cpus(allowed: &[u32]) -> Result<(u32, u32)> {
    let mut last = allowed.iter().rev().copied();
    let home = last.next().context("dwell may use no CPU")?;
    Ok((home, last.next().unwrap_or(home)))
}

fn rows(pairs: &[(&Pair, Vec<Round>)]) -> Vec<Vec<String>> {
    let head = ["rung", "dwell", "compared with", "its figure", "ratio", "goal", ""].map(str::to_owned);
    let mut rows = vec![head.to_vec()];
    for (pair, rounds) in pairs {
        let of = |figure: fn(&Round) -> f64| middle(rounds.iter().map(figure).collect()).ok();
        let ratios: Vec<f64> = rounds.iter().map(|round| round.dwell / round.rival).collect();
        let cell = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), time);
        rows.push(vec![
            pair.rung.to_owned(),
            cell(of(|round| round.dwell)),
            pair.rival.name().to_owned(),
            cell(of(|round| round.rival)),
            ratio(&ratios),
            goal(pair.goal),
            verdict(pair.goal, &ratios).to_owned(),
        ]);
    }
    rows
}

fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.2} ns"),
        ns if ns < 1e6 => format!("{:.2} us", ns / 1e3),
        ns => format!("{:.2} ms", ns / 1e6),
    }
}

fn ends(ratios: &[f64]) -> (f64, f64) {
    ratios.iter().fold((f64::INFINITY, 0.0), |(lo, hi), ratio| (ratio.min(lo), ratio.max(hi)))
}

fn ratio(ratios: &[f64]) -> String {
    let Ok(median) = middle(ratios.to_vec()) else { return "-".to_owned() };
    let (lo, hi) = ends(ratios);
    format!("{median:.3} ({lo:.3}-{hi:.3})")
}

fn goal(goal: Goal) -> String {
    match goal {
        Goal::Within(part) => format!("1 +- {:.0} %", part * 100.0),
        Goal::Spread => "1 within the spread".to_owned(),
    }
}

fn verdict(goal: Goal, ratios: &[f64]) -> &'static str {
    let Ok(median) = middle(ratios.to_vec()) else { return "not measured" };
    let (lo, hi) = ends(ratios);
    let reached = match goal {
        Goal::Within(part) => (median - 1.0).abs() <= part,
        Goal::Spread => (lo..=hi).contains(&1.0),
    };
    if reached { "reached" } else { "NOT reached" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    #[test]
    fn a_goal_is_reached_by_the_median_or_by_the_spread() {
        let ratios = [0.96, 1.01, 1.2];
        assert_eq!(verdict(Goal::Within(0.02), &ratios), "reached");
        assert_eq!(verdict(Goal::Within(0.02), &[1.03, 1.03, 0.9]), "NOT reached");
        assert_eq!(verdict(Goal::Spread, &ratios), "reached");
        assert_eq!(verdict(Goal::Spread, &[1.01, 1.2]), "NOT reached");
        assert_eq!(verdict(Goal::Spread, &[]), "not measured");
        assert_eq!(ratio(&ratios), "1.010 (0.960-1.200)");
    }

    #[test]
    fn the_other_end_is_on_another_cpu_where_there_is_one() {
        let of = |allowed: &[u32]| cpus(allowed).ok();
        assert_eq!([of(&[0, 2, 5]), of(&[3]), of(&[])], [Some((5, 2)), Some((3, 3)), None]);
    }

    #[test]
    fn rungs_are_chosen_by_name_and_others_refused() {
        let options: Options = read(&["dram", "--rounds", "3"]).unwrap();
        assert_eq!((options.only[0].rung, options.rounds), ("dram", 3));
        for wrong in [&["warp"][..], &["--rounds"], &["--rounds", "0"]] {
            assert!(read::<Options>(wrong).is_err());
        }
    }

    #[test]
    fn a_row_has_both_figures_and_the_ratio_of_each_round() {
        let rounds = vec![Round { dwell: 100.0, rival: 80.0 }, Round { dwell: 90.0, rival: 120.0 }];
        let pair = &PAIRS[5];
        let rows = rows(&[(pair, rounds), (pair, Vec::new())]);
        assert_eq!(rows[1][1..5], ["95.00 ns", "bench/chase.c", "100.00 ns", "1.000 (0.750-1.250)"]);
        assert_eq!(rows[2][1..5], ["-", "bench/chase.c", "-", "-"]);
    }
}
