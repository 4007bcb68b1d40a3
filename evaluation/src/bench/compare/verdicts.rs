//! How often `dwell compare` is right about two programs, and how soon: the same one twice, and one
//! with 2 % more to do.

use super::{Bench, progress, sitting};
use crate::bench::table::ranged;
use anyhow::{Context, Result};
use model::compare::Change;
use model::compare::commands::WORDS;
use workshop::table::layout;

/// The verdicts of some sittings.
#[derive(Default)]
struct Verdicts {
    /// In the order of [`VERDICTS`].
    counts: [usize; 4],
    seconds: Vec<f64>,
    pairs: Vec<f64>,
    /// Half of the interval of the ratio, in percent.
    half_widths: Vec<f64>,
}

const VERDICTS: [Change; 4] = [Change::Same, Change::More, Change::Less, Change::Undecided];

/// One program of 20 ms, under its name twice.
///
/// # Errors
/// When a comparison fails.
pub(super) fn same(bench: &Bench) -> Result<String> {
    let verdicts = verdicts(bench, "the same program", bench.sittings(100), (20.0, 1.0))?;
    Ok(table(bench, "A program of 20 ms against itself, on a quiet machine", &verdicts))
}

/// The same beside a program that takes a CPU for half of the time.
///
/// # Errors
/// When a comparison fails.
pub(super) fn beside(bench: &Bench) -> Result<String> {
    let _beside = bench.half_a_cpu()?;
    let verdicts = verdicts(bench, "beside half a CPU", bench.sittings(100), (20.0, 1.0))?;
    Ok(table(bench, "The same beside a program that takes a CPU for half of the time", &verdicts))
}

/// A program of 100 ms against one with 2 % more to do.
///
/// # Errors
/// When a comparison fails.
pub(super) fn planted(bench: &Bench) -> Result<String> {
    let verdicts = verdicts(bench, "2 % more", bench.sittings(20), (100.0, 1.02))?;
    Ok(table(bench, "A program of 100 ms against one with 2 % more to do", &verdicts))
}

/// Verdicts on a program that takes this many milliseconds, times this.
fn verdicts(bench: &Bench, what: &str, sittings: usize, (ms, times): (f64, f64)) -> Result<Verdicts> {
    let (a, b) = (bench.spin(ms), bench.spin(ms * times));
    let mut verdicts = Verdicts::default();
    for at in 0..sittings {
        progress(what, at, sittings);
        let (said, took) = sitting(&bench.place, &["--no-why", &a, &b])?;
        let change = said.comparisons.first().context("there is no comparison")?;
        let place =
            VERDICTS.iter().position(|known| *known == change.verdict).context("an unknown verdict")?;
        verdicts.counts[place] += 1;
        verdicts.seconds.push(took);
        verdicts.pairs.push(change.pairs.len() as f64);
        let ratio = change.ratio.context("there is no ratio")?;
        verdicts.half_widths.push(50.0 * (ratio.hi - ratio.lo));
    }
    Ok(verdicts)
}

fn table(bench: &Bench, title: &str, verdicts: &Verdicts) -> String {
    let mut head: Vec<String> = VERDICTS.map(|verdict| WORDS.of(verdict).to_owned()).to_vec();
    head.extend(["seconds", "pairs", "half of the interval, %"].map(str::to_owned));
    let mut row: Vec<String> = verdicts.counts.iter().map(ToString::to_string).collect();
    row.extend([&verdicts.seconds, &verdicts.pairs, &verdicts.half_widths].map(|values| ranged(values)));
    let text = layout(&[head, row], bench.options.measuring.markdown);
    format!("{title} (median, and the smallest and largest)\n\n{text}")
}
