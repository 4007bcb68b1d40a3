//! `cargo xtask score --draws N`: how often the first finding stays the same where the samples of a
//! recording are drawn anew (a bootstrap: B. Efron, "Bootstrap methods: another look at the
//! jackknife", 1979). Each sample comes as often as chance has it, with one on average. Waits and
//! counts are exact, and stay.

use super::Case;
use analyse::judge::judge_by;
use analyse::judge::measured::MeasuredChanges;
use anyhow::Result;
use golden::Case as Recorded;
use model::recording::Tier;
use model::{Profile, RunResult};
use stats::Random;

/// Judges each recording again, and says in how many draws its first finding was the same.
pub(super) fn run(cases: &[Case], draws: usize, names: &[&str]) -> Result<()> {
    let (mut recordings, mut steady) = (0, 0);
    for case in cases.iter().filter(|case| names.is_empty() || names.contains(&&*case.name)) {
        for (condition, path) in case.recordings()? {
            let recorded = Recorded::read(&path)?;
            let tier = if condition.source == "bpf" { Tier::Bpf } else { Tier::Perf };
            let Some(same) = same(recorded.result(), tier, draws) else { continue };
            (recordings, steady) = (recordings + 1, steady + usize::from(same * 20 >= draws * 19));
            if same * 20 < draws * 19 {
                println!("{:24} {:20} {same} of {draws}", case.name, condition.file());
            }
        }
    }
    println!("{steady} of {recordings} have the same first finding in 95 % of {draws} draws or more");
    Ok(())
}

/// In how many draws the first finding is that of the recording; none without samples.
fn same(result: &RunResult, tier: Tier, draws: usize) -> Option<usize> {
    let profile = result.profile.value().filter(|profile| !profile.weights.is_empty())?;
    let mut random = Random::new(profile.weights.len() as u64);
    let first = |profile: &mut Profile| {
        let mut run = result.run.clone();
        let found = judge_by(MeasuredChanges::shipped(), tier, &mut run, profile, &result.prediction);
        found.findings.first().map(|finding| finding.cause.id.clone())
    };
    let as_recorded = first(&mut profile.clone());
    let drawn = (0..draws).map(|_| first(&mut drawn(profile, &mut random)));
    Some(drawn.filter(|drawn| *drawn == as_recorded).count())
}

/// The same stacks, each with as many samples as chance gives it.
fn drawn(profile: &Profile, random: &mut Random) -> Profile {
    let mut drawn = profile.clone();
    for weight in &mut drawn.weights {
        let each_ns = weight.ns / weight.count.max(1);
        weight.count = (0..weight.count).map(|_| poisson_of_one(random)).sum();
        weight.ns = each_ns * weight.count;
    }
    drawn.weights.retain(|weight| weight.count > 0);
    drawn
}

/// A Poisson variate with mean 1 (D. Knuth, "The Art of Computer Programming", volume 2, 3.4.1).
fn poisson_of_one(random: &mut Random) -> u64 {
    let (limit, mut product, mut count) = ((-1.0_f64).exp(), random.uniform(), 0);
    while product > limit {
        product *= random.uniform();
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_has_one_of_each_on_average() {
        let mut random = Random::new(7);
        let sum: u64 = (0..100_000).map(|_| poisson_of_one(&mut random)).sum();
        assert!((98_500..101_500).contains(&sum), "{sum}");
    }
}
