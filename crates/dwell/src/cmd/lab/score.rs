//! All pairs, several times each: which sizes, in which order, and how it goes on after Ctrl-C.

use super::bench::{Asked, Bench, PairRun};
use super::pair::{described, missing, named};
use crate::cli::LabArgs;
use crate::cmd::results;
use crate::exit;
use crate::keep::ResultStore;
use crate::out::{OutputPath, Outputs};
use crate::output;
use crate::progress::ProgressLine;
use crate::stop::Stop;
use anyhow::{Context, bail};
use model::lab::{LabScore, SCHEMA_SCORE, ScoreRow, ScoreTotal};
use pairs::{Pair, Served, Size};
use report::units;
use stats::Random;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use sys::clock::{monotonic_ns, rfc3339, unix_s};
use sys::signals::Signals;
use tempfile::NamedTempFile;

/// Pairs of runs in each comparison, by default.
const PAIRS: u32 = 6;
const SECOND_NS: u64 = 1_000_000_000;

/// Scores; returns the exit status.
pub(super) fn score(args: &LabArgs, keeper: &mut ResultStore) -> anyhow::Result<u8> {
    let mut score = match &args.resume {
        Some(path) => {
            let kept = results::one(path, results::all(path, keeper)?)?;
            if !kept.is::<LabScore>() {
                bail!("{path:?} is a {}\ntry: a file written by dwell lab --score --json", kept.schema);
            }
            kept.read()?
        }
        None => new(args)?,
    };
    // Opening waits for the reader of a pipe: a signal ends that.
    let outputs = Outputs::open(&args.outputs.forms, args.outputs.page(), None, &[])?;
    let mut signals = Signals::take_over().context("cannot handle signals")?;
    let stop = Stop::new(&mut signals);
    let line = ProgressLine::new(args.outputs.quiet);
    let bench = Bench::new(args.dir.as_deref(), &stop, &line)?;
    let unfinished = Unfinished::beside(args.outputs.forms.get("json"));
    hold_all(&mut score, &bench, args.pairs.unwrap_or(PAIRS), &stop, &unfinished)?;
    drop(bench);
    drop(line);
    let ended_by = stop.status();
    // Writing may wait: for the reader of a pipe, for a disk.
    signals.outlast_one();
    score.total = analyse::lab::total(&score.rows);
    let failed = outputs.write(&score, &args.outputs.look).complain();
    keeper.offer(&score, None);
    if !failed {
        unfinished.remove();
    }
    Ok(if failed { exit::DWELL_FAILED } else { ended_by.unwrap_or(0) })
}

/// A score without sittings.
fn new(args: &LabArgs) -> anyhow::Result<LabScore> {
    let asked: Vec<&Pair> = match &args.only[..] {
        [] => pairs::ALL.to_vec(),
        names => names.iter().map(|name| named(name)).collect::<anyhow::Result<_>>()?,
    };
    let (can, cannot): (Vec<&Pair>, Vec<&Pair>) = asked.into_iter().partition(|pair| missing(pair).is_none());
    let why = |pair: &Pair| (pair.name.to_owned(), missing(pair).unwrap_or_default());
    Ok(LabScore {
        schema: SCHEMA_SCORE.to_owned(),
        dwell: env!("CARGO_PKG_VERSION").to_owned(),
        host: observe::this_host(),
        started_at: rfc3339(unix_s()),
        rounds: args.rounds,
        seed: args.seed.unwrap_or_else(|| monotonic_ns() ^ unix_s().rotate_left(32)),
        rows: can.iter().map(|pair| ScoreRow { pair: described(pair), sittings: Vec::new() }).collect(),
        not_held: cannot.into_iter().map(why).collect(),
        total: ScoreTotal::default(),
        ended_early: None,
    })
}

/// Holds the sittings that are missing: each round all pairs, so that what was held so far is of
/// all of them.
fn hold_all(
    score: &mut LabScore,
    bench: &Bench<'_, '_>,
    pairs: u32,
    stop: &Stop<'_>,
    unfinished: &Unfinished,
) -> anyhow::Result<()> {
    score.ended_early = None;
    let begun_ns = monotonic_ns();
    let rows = score.rows.len();
    let first_beside = first_beside(score);
    let total = rows * score.rounds as usize;
    let had: usize = score.rows.iter().map(|row| row.sittings.len()).sum();
    for round in 0..score.rounds {
        for (at, beside) in first_beside.iter().enumerate() {
            if score.rows[at].sittings.len() > round as usize || not_held(score, at) {
                continue;
            }
            let done: usize = score.rows.iter().map(|row| row.sittings.len()).sum();
            let pair = named(&score.rows[at].pair.name)?;
            let asked = Asked {
                size: drawn(&pair.size, score.seed, at, round),
                beside: beside ^ (round % 2 == 1),
                pairs,
                all_ways: false,
                apart: false,
                urls: Vec::new(),
                server: Served::default(),
                hidden: false,
            };
            let pair_ns = monotonic_ns();
            let before = || {
                // If the others are like those that were held.
                let each_ns = (pair_ns - begun_ns).checked_div((done - had) as u64).unwrap_or(0);
                let all_ns = each_ns * total.saturating_sub(done) as u64;
                let left = match all_ns.saturating_sub(monotonic_ns() - pair_ns) {
                    0 => String::new(),
                    ns => format!(", about {} left", units::duration(ns.next_multiple_of(SECOND_NS))),
                };
                format!("{} of {total}{left}: ", done + 1)
            };
            match bench.hold(pair, &asked, Some(&before)) {
                Ok(Some(PairRun { sitting, ended_early: None, .. })) => {
                    score.rows[at].sittings.push(sitting);
                    unfinished.keep(score);
                }
                // Half a sitting is none: it is held again.
                Ok(_) => {
                    score.ended_early = Some("a signal ended it".to_owned());
                    return Ok(());
                }
                // The others can still be held.
                Err(why) => {
                    let why = format!("{why:#}");
                    output::complain(&format!("{}: {}", pair.name, output::clean_lines(&why)));
                    score.not_held.push((pair.name.to_owned(), why));
                }
            }
            if stop.asked() {
                score.ended_early = Some("a signal ended it".to_owned());
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The score so far, beside the file that it will be written to: for `--resume`, should dwell be
/// killed.
struct Unfinished(Option<PathBuf>);

impl Unfinished {
    fn beside(json: Option<&OutputPath>) -> Self {
        Self(match json {
            Some(OutputPath::File(path)) => {
                let mut name = path.clone().into_os_string();
                name.push(".unfinished");
                Some(name.into())
            }
            _ => None,
        })
    }

    /// Replaces it, whole.
    fn keep(&self, score: &LabScore) {
        let Some(path) = &self.0 else { return };
        let kept = store::above(path).and_then(NamedTempFile::new_in).and_then(|mut file| {
            file.write_all(report::json(score).as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(path).map_err(|error| error.error)
        });
        if let Err(error) = kept {
            output::complain(&format!("cannot keep the score so far in {path:?}: {error}"));
        }
    }

    fn remove(&self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

fn not_held(score: &LabScore, at: usize) -> bool {
    score.not_held.iter().any(|(name, _)| *name == score.rows[at].pair.name)
}

/// Which pairs are beside busy loops in the first round, and in each other one after it: half of
/// them, drawn; those that were held in it as they were.
fn first_beside(score: &LabScore) -> Vec<bool> {
    let held = |row: &ScoreRow| row.sittings.first().map(|sitting| sitting.beside);
    let mut beside: Vec<bool> = score.rows.iter().map(|row| held(row) == Some(true)).collect();
    // Other draws than those of the sizes.
    let mut random = Random::new(!score.seed);
    let mut drawn: Vec<(u64, usize)> = (0..score.rows.len()).map(|at| (random.bits(), at)).collect();
    drawn.sort_unstable();
    let missing = (beside.len() / 2).saturating_sub(beside.iter().filter(|beside| **beside).count());
    let open = drawn.into_iter().filter(|(_, at)| held(&score.rows[*at]).is_none());
    for (_, at) in open.take(missing) {
        beside[at] = true;
    }
    beside
}

/// A size between the least and the most, each factor as likely as the other.
fn drawn(size: &Size, seed: u64, at: usize, round: u32) -> u64 {
    let mut random = Random::new(seed ^ (at as u64) << 32 ^ u64::from(round));
    let part = random.uniform();
    let (least, most) = (size.least as f64, size.most as f64);
    (least * (most / least).powf(part)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_drawn_between_the_least_and_the_most_and_again_from_the_same_seed() {
        let size = Size { unit: "files", usual: 10, least: 10, most: 1000 };
        let drawn_by = |seed| (0..200).map(move |round| drawn(&size, seed, 3, round)).collect::<Vec<_>>();
        let sizes = drawn_by(7);
        assert!(sizes.iter().all(|size| (10..=1000).contains(size)));
        let below = sizes.iter().filter(|size| **size < 100).count();
        assert!((60..=140).contains(&below), "{below} of 200 below the middle factor");
        assert!(sizes == drawn_by(7) && sizes != drawn_by(8));
    }

    /// A score of this many pairs, of which these were held in the first round, so.
    fn score(rows: usize, seed: u64, held: &[(usize, bool)]) -> LabScore {
        let observed = serde_json::json!({"wall_ns": 1, "class": "cpu", "findings": []});
        let sitting = |beside: bool| {
            let outcome = serde_json::json!({
                "cause_first": true, "first_again": false, "predicted": null, "held": null, "score": null,
                "rule_score": null,
            });
            let sitting = serde_json::json!({
                "size": 1, "unit": "files", "beside": beside, "commands": [], "ways": [], "slow": observed,
                "fast": null, "saved": [], "wall_ns": [], "pairs": 0, "outcome": outcome,
            });
            serde_json::from_value(sitting).expect("it is a sitting")
        };
        let row = |at: usize| ScoreRow {
            pair: described(pairs::ALL[at]),
            sittings: held
                .iter()
                .filter(|(held, _)| *held == at)
                .map(|(_, beside)| sitting(*beside))
                .collect(),
        };
        LabScore {
            schema: SCHEMA_SCORE.to_owned(),
            dwell: String::new(),
            host: observe::this_host(),
            started_at: String::new(),
            rounds: 1,
            seed,
            rows: (0..rows).map(row).collect(),
            not_held: Vec::new(),
            total: ScoreTotal::default(),
            ended_early: None,
        }
    }

    #[test]
    fn half_of_the_pairs_are_beside_busy_loops_and_another_half_by_another_seed() {
        let beside = |seed| first_beside(&score(9, seed, &[]));
        for seed in 0..50 {
            assert_eq!(beside(seed).iter().filter(|beside| **beside).count(), 4, "{seed}");
        }
        assert!(beside(7) == beside(7));
        for at in 0..9 {
            let of_fifty = (0..50).filter(|seed| beside(*seed)[at]).count();
            assert!((8..40).contains(&of_fifty), "pair {at} is beside them in {of_fifty} of 50");
        }
    }

    #[test]
    fn a_score_that_goes_on_keeps_the_half_that_it_had() {
        let whole = first_beside(&score(9, 7, &[]));
        let held: Vec<_> = (0..5).map(|at| (at, whole[at])).collect();
        assert_eq!(first_beside(&score(9, 7, &held)), whole);
        // Of an older dwell: each second pair.
        let held: Vec<_> = (0..5).map(|at| (at, at % 2 == 1)).collect();
        let on = first_beside(&score(9, 7, &held));
        assert_eq!(on[..5], [false, true, false, true, false]);
        assert_eq!(on.iter().filter(|beside| **beside).count(), 4);
    }
}
