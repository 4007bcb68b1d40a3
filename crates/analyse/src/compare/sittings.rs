//! Several comparisons of the same commands: how far a sitting's ratio is from another's, and how
//! that compares with the interval that each gave itself.

use super::rules::{differences, made_by};
use model::compare::Difference;
use model::compare::commands::{CommandChange, Comparison};
use model::compare::sittings::{
    SCHEMA_COMPARE_DIFF, Sitting, SittingDifference, SittingResult, SittingSpread, Sittings, SittingsRow,
};

/// Half of a 95 % interval in standard errors.
const Z: f64 = 1.959_964;

/// The sittings beside each other, each with the name of its file.
pub fn compare(sittings: &[(String, Comparison)]) -> Sittings {
    let first = sittings.first().map(|(_, comparison)| comparison);
    Sittings {
        schema: SCHEMA_COMPARE_DIFF.to_owned(),
        sittings: sittings.iter().map(|(file, comparison)| sitting(file, comparison)).collect(),
        differences: first.map_or_else(Vec::new, |first| conditions(first, sittings)),
        rows: first.map_or_else(Vec::new, |first| {
            first.comparisons.iter().filter_map(|change| row(first, change, sittings)).collect()
        }),
    }
}

fn sitting(file: &str, comparison: &Comparison) -> Sitting {
    Sitting {
        file: file.to_owned(),
        host: comparison.host.name.clone(),
        started_at: comparison.started_at.clone(),
        on: comparison.settings.on,
    }
}

/// What is another in a later sitting than in the first.
fn conditions(first: &Comparison, sittings: &[(String, Comparison)]) -> Vec<SittingDifference> {
    let later = sittings.iter().enumerate().skip(1);
    let of_each = later.flat_map(|(at, (_, other))| {
        let sitting = at as u32;
        between(first, other).into_iter().map(move |difference| SittingDifference { sitting, difference })
    });
    of_each.collect()
}

fn between(a: &Comparison, b: &Comparison) -> Vec<Difference> {
    let figure = |of: &Comparison| format!("{:?}", of.settings.on).to_lowercase();
    let made = made_by((&a.host, &a.dwell), (&b.host, &b.dwell));
    let pairs = [
        ("figure", figure(a), figure(b)),
        ("margin", a.settings.margin.to_string(), b.settings.margin.to_string()),
    ];
    let named = made.into_iter().chain(pairs).map(|(what, a, b)| (what.to_owned(), a, b));
    let lines = |of: &Comparison| -> Vec<String> {
        of.commands.iter().map(|command| command.command.join(" ")).collect()
    };
    let (of_a, of_b) = (lines(a), lines(b));
    let none = || "none".to_owned();
    let commands = (0..of_a.len().max(of_b.len())).map(|at| {
        let line = |of: &[String]| of.get(at).cloned().unwrap_or_else(none);
        (format!("command {}", at + 1), line(&of_a), line(&of_b))
    });
    differences(named.chain(commands))
}

/// A comparison of the first sitting in all of them; none where one lacks it.
fn row(first: &Comparison, change: &CommandChange, sittings: &[(String, Comparison)]) -> Option<SittingsRow> {
    let (a, b) = (name(first, change.a), name(first, change.b));
    let found: Option<Vec<&CommandChange>> =
        sittings.iter().map(|(_, other)| partner(other, &a, &b)).collect();
    let results: Vec<SittingResult> = found?.into_iter().map(result).collect();
    let one_figure = sittings.iter().all(|(_, other)| other.settings.on == first.settings.on);
    let spread = if one_figure { spread(&results) } else { None };
    Some(SittingsRow { a, b, results, spread })
}

fn name(of: &Comparison, command: u32) -> String {
    of.commands.get(command as usize).map_or_else(String::new, |command| command.name.clone())
}

/// The comparison of the same names; of a sitting with one comparison that one.
fn partner<'a>(of: &'a Comparison, a: &str, b: &str) -> Option<&'a CommandChange> {
    let same = |change: &&CommandChange| name(of, change.a) == a && name(of, change.b) == b;
    match of.comparisons.as_slice() {
        [only] => Some(only),
        all => all.iter().find(same),
    }
}

fn result(change: &CommandChange) -> SittingResult {
    SittingResult { pairs: change.pairs.len() as u32, ratio: change.ratio, verdict: change.verdict }
}

/// How the ratios are spread.
fn spread(results: &[SittingResult]) -> Option<SittingSpread> {
    let ratios: Vec<_> = results
        .iter()
        .filter_map(|result| result.ratio)
        .filter(|ratio| ratio.estimate > 0.0 && ratio.estimate.is_finite())
        .collect();
    if ratios.len() < 2 {
        return None;
    }
    let estimates = || ratios.iter().map(|ratio| ratio.estimate);
    let logarithms: Vec<f64> = estimates().map(f64::ln).collect();
    let squares: Option<Vec<f64>> = ratios
        .iter()
        .map(|ratio| {
            let error = (ratio.hi / ratio.lo).ln() / (2.0 * Z);
            (error.is_finite() && error > 0.0).then_some(error * error)
        })
        .collect();
    let within = squares.map(|squares| stats::mean(&squares).sqrt());
    Some(SittingSpread {
        median: stats::median_of(estimates())?,
        lo: estimates().fold(f64::INFINITY, f64::min),
        hi: estimates().fold(0.0, f64::max),
        between_by_within: within.map(|within| deviation(&logarithms) / within),
    })
}

/// The standard deviation.
fn deviation(values: &[f64]) -> f64 {
    let middle = stats::mean(values);
    let squares: f64 = values.iter().map(|value| (value - middle) * (value - middle)).sum();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::compare::{Change, EstimateInterval};

    fn said(estimate: f64, half: f64) -> SittingResult {
        let ratio = EstimateInterval { estimate, lo: estimate / half, hi: estimate * half };
        SittingResult { pairs: 20, ratio: Some(ratio), verdict: Change::Undecided }
    }

    #[test]
    fn sittings_that_agree_within_their_intervals_have_a_spread_of_about_one() {
        // Standard errors of 1 %, ratios one standard deviation apart.
        let half = (0.01 * Z).exp();
        let apart = |by: f64| spread(&[said(1.0, half), said(by.exp(), half)]).unwrap();
        let about_one = apart(0.01 * 2.0_f64.sqrt()).between_by_within.unwrap();
        assert!((about_one - 1.0).abs() < 1e-9, "{about_one}");
        let ten = apart(0.1 * 2.0_f64.sqrt());
        assert!((ten.between_by_within.unwrap() - 10.0).abs() < 1e-9 && ten.lo == 1.0, "{ten:?}");
        assert_eq!(spread(&[said(1.0, half)]), None);
        assert_eq!(spread(&[said(1.0, 1.0), said(1.1, half)]).unwrap().between_by_within, None);
    }
}
