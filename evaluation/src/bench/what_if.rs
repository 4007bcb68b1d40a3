//! `cargo xtask bench what-if`: whether what `dwell show --what-if` says comes true. Programs
//! (`bench/what_if.c`) run as they are, under `dwell run --keep`, and with what the edit takes away
//! really gone: by turns, `dwell compare` times them. What a recording predicts is held against how
//! long the changed program took.

mod cases;

use super::install;
use super::program::compile;
use super::table::Middle;
use crate::{Measuring, one_of};
use anyhow::{Context, Result, ensure};
use cases::{CASES, Case, Place};
use clap::Args;
use model::WhatIf;
use model::compare::commands::Comparison;
use model::timing::TimedRun;
use workshop::machine::{conditions, load};
use workshop::shell::{output, program};
use workshop::table::layout;

/// Runs of each way that count: enough for an interval of their median.
const ROUNDS: usize = 9;

#[derive(Args)]
pub(super) struct Options {
    /// Runs of each way
    #[arg(long, value_name = "N", value_parser = crate::some(), default_value_t = ROUNDS)]
    rounds: usize,
    #[command(flatten)]
    measuring: Measuring,
    /// Programs [default: all]
    #[arg(value_name = "NAME", value_parser = one_of(&CASES, |case| case.name))]
    cases: Vec<&'static Case>,
}

/// What one recording says of the wall clock with the edits, in milliseconds.
struct Predicted {
    recorded_ms: f64,
    ms: f64,
    lo_ms: f64,
    hi_ms: f64,
}

/// Measures and prints the table.
///
/// # Errors
/// When no program could be measured. One that could not
/// is noted.
pub(super) fn run(options: &Options) -> Result<()> {
    let here = install(options.measuring.dwell.as_deref())?;
    compile(&here, "what_if")?;
    let place = Place::make(here)?;
    let begun = load();
    let head = ["program", "edit", "wall, ms", "predicted, ms", "measured, ms", "off, %", "within", "meets"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut notes = Vec::new();
    let cases = if options.cases.is_empty() { CASES.iter().collect() } else { options.cases.clone() };
    for case in cases {
        eprintln!("{}: {} rounds", case.name, options.rounds);
        match place.missing(case) {
            Some(missing) => notes.push(format!("{} was left out: {missing}", case.name)),
            // Where others have the CPUs, an edit may be about nothing that happened.
            None => match row(case, &place, options.rounds) {
                Ok(row) => rows.push(row),
                Err(error) => notes.push(format!("{}: {error:#}", case.name)),
            },
        }
    }
    println!("The wall clock with an edit: predicted by recordings, and measured without the thing\n");
    ensure!(rows.len() > 1, "no program was measured: {}", notes.join("; "));
    println!("{}", layout(&rows, options.measuring.markdown));
    println!(
        "Medians of {} runs by turns, with the interval of the median; of predictions the medians of \
         their estimates and ends.\n`within`: recordings whose interval holds the measured median; \
         `meets`: whose interval reaches into that of the\nmeasured median. Measured on {}.",
        options.rounds,
        conditions(&begun)
    );
    notes.iter().for_each(|note| println!("note: {note}"));
    Ok(())
}

/// One program: the way it is, recorded, and changed, by turns.
fn row(case: &Case, place: &Place, rounds: usize) -> Result<Vec<String>> {
    let dwell = place.here.join("dwell");
    let [before, after] = [case.before, case.after].map(|command| place.filled(command));
    let kept = place.kept()?;
    let recorded = format!(
        "sh -c 'exec {} run --quiet --keep {}/$$.dwell -- {before}'",
        dwell.display(),
        kept.path().display()
    );
    let mut compare = program(&dwell, &["compare", "--quiet", "--json", "-", "--no-why"]);
    compare.current_dir(&place.here).args(["--pairs", &rounds.to_string()]);
    let said = output(compare.args([before, after, recorded]))?;
    let said: Comparison = serde_json::from_str(&said).context("dwell compare wrote no JSON")?;
    let before = wall(&said.runs, 0).context("no run of the program")?;
    let after = wall(&said.runs, 1).context("no run of the changed program")?;
    let edits: Vec<String> = case.edits.iter().map(|edit| place.filled(edit)).collect();
    let mut predictions = Vec::new();
    // The first pair does not count.
    for recording in kept.in_order()?.iter().skip(1) {
        let mut show = program(&dwell, &["show", "--json", "-"]);
        let said = output(show.arg(recording).arg("--what-if").args(&edits))?;
        predictions.push(predicted(&serde_json::from_str(&said).context("dwell's JSON cannot be read")?));
    }
    ensure!(!predictions.is_empty(), "no recording was kept");
    let within = |of: &Predicted| of.lo_ms <= after.median && after.median <= of.hi_ms;
    let meets = |of: &Predicted| of.lo_ms <= after.hi && after.lo <= of.hi_ms;
    let count = |is: &dyn Fn(&Predicted) -> bool| {
        format!("{}/{}", predictions.iter().filter(|of| is(of)).count(), predictions.len())
    };
    let median = |of: fn(&Predicted) -> f64| stats::median_of(predictions.iter().map(of)).unwrap_or(0.0);
    let ms = median(|of| of.ms);
    Ok(vec![
        case.what.to_owned(),
        case.edits.join(" "),
        format!("{:.0} (recorded {:.0})", before.median, median(|of| of.recorded_ms)),
        format!("{ms:.0} ({:.0}-{:.0})", median(|of| of.lo_ms), median(|of| of.hi_ms)),
        format!("{:.0} ({:.0}-{:.0})", after.median, after.lo, after.hi),
        format!("{:+.1}", 100.0 * (ms / after.median - 1.0)),
        count(&within),
        count(&meets),
    ])
}

/// The wall clocks of a command's runs that count, in milliseconds.
fn wall(runs: &[TimedRun], command: u32) -> Option<Middle> {
    let runs = runs.iter().filter(|run| run.command == command && run.excluded.is_none());
    Middle::of(runs.map(|run| run.wall_ns as f64 / 1e6))
}

fn predicted(said: &WhatIf) -> Predicted {
    let ms = |ns: u64| ns as f64 / 1e6;
    let after = &said.after;
    Predicted {
        recorded_ms: ms(said.wall_ns),
        ms: ms(after.ns),
        lo_ms: ms(after.lo_ns),
        hi_ms: ms(after.hi_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;
    use crate::sample::timed;

    #[test]
    fn programs_are_by_name_and_all_of_them_if_none_is_named() {
        let given: Options = read(&["syncs", "--rounds", "3"]).unwrap();
        assert_eq!((given.cases[0].name, given.cases.len(), given.rounds), ("syncs", 1, 3));
        assert!(read::<Options>(&["nothing"]).err().unwrap().to_string().contains("syncs"));
        assert!(read::<Options>(&["--rounds", "0"]).is_err());
    }

    #[test]
    fn runs_that_do_not_count_are_left_out() {
        let runs = [
            timed(0, 9_000_000, Some("warmup")),
            timed(0, 2_000_000, None),
            timed(1, 5_000_000, None),
            timed(0, 4_000_000, None),
        ];
        let of = |command| wall(&runs, command).map(|middle| (middle.lo, middle.median, middle.hi));
        assert_eq!((of(0), of(1), of(2)), (Some((2.0, 3.0, 4.0)), Some((5.0, 5.0, 5.0)), None));
    }
}
