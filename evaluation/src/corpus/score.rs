//! `cargo xtask score`: how right dwell is about the recordings of the corpus.
//!
//! Each recording is judged as if no program of its family had ever been measured.
//!
//! Savings are scored as those of the lab are (`analyse::lab::score`), in parts of the wall clock,
//! beside two rules that look at nothing: from a third of the wall clock to all of it, and from a
//! third of the time at the finding's place to all of that.

use super::{Case, Condition, OUTSIDE};
use analyse::judge::measured::{Allowed, MeasuredChange, MeasuredChanges, NOTHING, Truth};
use analyse::lab::{OF_CODE, OF_OTHERS, score};
use anyhow::{Context, Result, ensure};
use clap::Args;
use golden::Case as Recorded;
use model::coverage::Interval;
use model::finding::SavingBasis;
use model::run::FindingRow;
use model::{Finding, FindingsInWords, RunResult};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

/// How recordings were made.
const PARTS: [&str; 4] = ["quiet-bpf", "busy-bpf", "quiet-perf", "busy-perf"];
/// The row of programs that have nothing to change.
const HEALTHY: &str = "healthy";
/// An interval score that is worse by this, in parts of the wall clock, is worse.
const WORSE: f64 = 0.02;

/// What dwell said of a recording, and how right that is.
#[derive(Debug, Clone, PartialEq)]
struct Judged {
    case: String,
    condition: String,
    /// The cause of the first finding.
    first: String,
    right: bool,
    /// None where the finding is not the right one, or no place is asked for.
    place: Option<bool>,
    outcome: Outcome,
    saving: Option<Saving>,
    /// Its findings, with what is true of them.
    changes: Vec<MeasuredChange>,
    /// Where the first finding is wrong: what stood in its place, and what became of the cause.
    miss: Option<String>,
}

/// A saving that was measured, and what was predicted; nothing is saved of a healthy program.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Saving {
    saved: f64,
    /// What the page says: of the first finding, or of programs of which nothing was found. None
    /// where it says nothing, which is scored as if nothing would be saved.
    predicted: Option<(f64, f64)>,
    held: bool,
    score: f64,
    /// As the page's, but nothing is predicted where the cause is not among the findings.
    strict: f64,
    of_wall: f64,
    of_place: f64,
    of_any: f64,
}

/// How right the first finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    RightFirst,
    RightLater,
    HotCodeFirst,
    OtherFirst,
    Nothing,
}

impl Outcome {
    const ALL: [(Outcome, &'static str); 5] = [
        (Outcome::RightFirst, "right first"),
        (Outcome::RightLater, "right later"),
        (Outcome::HotCodeFirst, "hot-code first"),
        (Outcome::OtherFirst, "another first"),
        (Outcome::Nothing, "nothing found"),
    ];

    fn of(first: Option<&FindingRow>, right: bool, later: bool) -> Self {
        match first {
            Some(_) if right => Outcome::RightFirst,
            Some(_) if later => Outcome::RightLater,
            Some(row) if row.cause == OF_CODE => Outcome::HotCodeFirst,
            Some(_) => Outcome::OtherFirst,
            None => Outcome::Nothing,
        }
    }
}

#[derive(Args)]
pub(crate) struct Options {
    /// Write what is there now to corpus/score.txt
    #[arg(long)]
    bless: bool,
    /// Write what changes took, for the judgement, from all cases
    #[arg(long)]
    learn: bool,
    /// Say instead what stood first where that is wrong, and why
    #[arg(long)]
    misses: bool,
    /// Draw the families that are left out this many times
    #[arg(long, value_name = "N")]
    draws: Option<usize>,
    /// Cases [default: all]
    #[arg(value_name = "CASE")]
    names: Vec<String>,
}

/// The verb.
pub(crate) fn run(Options { bless, learn, misses, draws, names }: &Options) -> Result<()> {
    let cases = Case::all()?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if let Some(draws) = draws {
        return super::draws::run(&cases, *draws, &names);
    }
    if *learn {
        let all = judged(&cases, &[])?;
        let measured = MeasuredChanges::of(all.iter().flat_map(|one| one.changes.clone()).collect());
        fs::write(measured_file(), measured.text())?;
        println!("wrote {}: build again, and score", measured_file().display());
        return Ok(());
    }
    let all = judged(&cases, &names)?;
    ensure!(!all.is_empty(), "no recording of {names:?} in the corpus");
    if *misses {
        all.iter().filter_map(|one| one.miss.as_ref()).for_each(|miss| println!("{miss}"));
        return Ok(());
    }
    print!("{}\n{}", table(&all), totals(&cases, &all));
    if *bless && names.is_empty() {
        fs::write(committed(), table(&all))?;
    }
    let worse = worse(&fs::read_to_string(committed()).unwrap_or_default(), &all);
    ensure!(worse.is_empty(), "worse than corpus/score.txt:\n{}", worse.join("\n"));
    Ok(())
}

fn committed() -> PathBuf {
    workshop::shell::root().join("corpus/score.txt")
}

/// What `judge::measured` has with it.
fn measured_file() -> PathBuf {
    workshop::shell::root().join("crates/analyse/src/judge/measured.txt")
}

/// What is known of other families, for each; they live as long as the program.
fn without_each(cases: &[Case]) -> BTreeMap<&str, &'static MeasuredChanges> {
    let without = |case: &Case| &*Box::leak(Box::new(MeasuredChanges::shipped().without(&case.facts.family)));
    let families: BTreeMap<&str, &Case> = cases.iter().map(|case| (&*case.facts.family, case)).collect();
    families.into_iter().map(|(family, case)| (family, without(case))).collect()
}

/// All recordings of the cases with these names, or of all.
fn judged(cases: &[Case], names: &[&str]) -> Result<Vec<Judged>> {
    let mut todo = Vec::new();
    for case in cases.iter().filter(|case| names.is_empty() || names.contains(&&*case.name)) {
        todo.extend(case.recordings()?.into_iter().map(|(condition, path)| (case, condition, path)));
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let measured = without_each(cases);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Judged)>> {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some((case, condition, path)) = todo.get(at) else { return Ok(done) };
            let measured = measured[&*case.facts.family];
            let recorded = Recorded::judged_by(measured, path).with_context(|| format!("{path:?}"))?;
            done.push((at, judge(case, condition, measured, recorded.result())));
        }
    };
    let parts = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    let mut all: Vec<(usize, Judged)> = parts.into_iter().flatten().collect();
    all.sort_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(_, judged)| judged).collect())
}

fn judge(case: &Case, condition: &Condition, measured: &MeasuredChanges, result: &RunResult) -> Judged {
    let FindingsInWords { findings, base_rate, .. } = report::in_words(result);
    let is_claim = |row: &FindingRow| !condition.busy || row.cause != OF_OTHERS || accepts(case, row);
    let claims: Vec<(&FindingRow, &Finding)> =
        findings.iter().zip(&result.diagnosis.findings).filter(|(row, _)| is_claim(row)).collect();
    let first = claims.first().map(|(row, _)| *row);
    let is_outside = case.facts.causes.iter().any(|cause| cause == OUTSIDE);
    let own = claims.iter().map(|(row, _)| *row).find(|row| accepts(case, row));
    let right = match (case.is_healthy(), is_outside) {
        (true, _) => claims.iter().all(|(row, _)| row.cause == OF_CODE),
        (_, true) => first.is_none(),
        _ => first.is_some_and(|row| accepts(case, row)),
    };
    let at_place =
        |row: &FindingRow| case.facts.place.iter().any(|text| texts(row).any(|said| said.contains(text)));
    let is_asked = right && !case.facts.place.is_empty();
    let saved = if case.is_healthy() { Some(0.0) } else { case.saved(condition).map(|[saved, ..]| saved) };
    let wall = result.run.wall_ns.max(1) as f64;
    let parts = |ns: Interval| (ns.lo as f64 / wall, ns.hi as f64 / wall);
    let predicted_of =
        |row: &FindingRow| row.saving_ns.value().filter(|_| row.saves_wall()).map(|ns| parts(*ns));
    Judged {
        miss: (!right).then(|| miss(case, condition, result)),
        changes: changes(case, condition, &claims, result),
        case: case.name.clone(),
        condition: condition.file().trim_end_matches(".dwell").to_owned(),
        first: first.map_or("-", |row| &*row.cause).to_owned(),
        right,
        place: first.filter(|_| is_asked).map(at_place),
        outcome: Outcome::of(first, right, own.is_some()),
        saving: saved.map(|saved| {
            // Beside loops that are there on purpose, the first finding may be about these.
            let said = first.or(findings.first()).and_then(predicted_of);
            let predicted = said.or(base_rate.map(|rate| parts(rate.ns)));
            let share = own.or(first).map_or(0.0, |row| row.share.hi);
            let of = |(lo, hi): (f64, f64)| score((lo, hi), saved);
            Saving {
                saved,
                predicted,
                held: predicted.is_some_and(|(lo, hi)| (lo..=hi).contains(&saved)),
                score: of(predicted.unwrap_or_default()),
                strict: of(own.and_then(predicted_of).unwrap_or_default()),
                of_wall: of((1.0 / 3.0, 1.0)),
                of_place: of((share / 3.0, share)),
                of_any: of(measured.of_any()),
            }
        }),
    }
}

/// All findings in their order, with how likely each is, its part of the wall clock and what it is
/// expected to save of it; then why what is accepted was not found.
fn miss(case: &Case, condition: &Condition, result: &RunResult) -> String {
    let words = report::in_words(result);
    let wall = result.run.wall_ns.max(1) as f64;
    let facts = &case.facts;
    let name = format!("{} {}", case.name, condition.file().trim_end_matches(".dwell"));
    let mut text = format!("{name} ({}, {}): {}\n", facts.family, facts.language, facts.causes.join(", "));
    for (row, finding) in words.findings.iter().zip(&result.diagnosis.findings) {
        let saving = finding.saving.value();
        let part = |ns: u64| format!("{:.2}", ns as f64 / wall);
        let allowed = saving.map_or_else(|| "-".to_owned(), |saving| part(saving.structure().hi));
        let expected = saving.map_or_else(|| "-".to_owned(), |saving| part(saving.expected_ns()));
        let belief = finding.belief.unwrap_or_default();
        let _ = writeln!(
            text,
            "  {} ({}): likely {belief:.2}, allowed {allowed}, expected {expected}; {}",
            row.cause, row.known, row.place
        );
    }
    let all = words.ruled_out.iter().chain(&words.not_looked_for);
    for row in all.filter(|row| facts.causes.contains(&row.cause)) {
        let _ = writeln!(text, "  not {}: {}", row.cause, row.why);
    }
    text
}

/// What can be learnt of each claim, or of there being none. A second cause that is there as well
/// is right, but what was measured is not its saving; and of one cause in one run, the first.
fn changes(
    case: &Case,
    condition: &Condition,
    claims: &[(&FindingRow, &Finding)],
    result: &RunResult,
) -> Vec<MeasuredChange> {
    let saved = case.saved(condition).map(|[saved, ..]| saved).filter(|_| !case.is_healthy());
    let wall = result.run.wall_ns.max(1) as f64;
    let truth = |right: bool| match (right, case.is_healthy()) {
        (true, _) => Truth::Right,
        (false, true) => Truth::Healthy,
        (false, false) => Truth::Wrong,
    };
    let mut seen = BTreeSet::new();
    let one = |(at, (row, finding)): (usize, &(&FindingRow, &Finding))| {
        let learnt = finding.saving.value().and_then(|saving| saving.learnt).filter(|_| accepts(case, row));
        MeasuredChange {
            cause: row.cause.clone(),
            known: SavingBasis::named(&row.known).unwrap_or(SavingBasis::Assumed),
            family: case.facts.family.clone(),
            first: at == 0,
            truth: truth(accepts(case, row) || case.facts.also.contains(&row.cause)),
            allowed: learnt.map(|learnt| Allowed {
                place: learnt.structure.hi as f64 / wall,
                beside_own: learnt.beside_own_ns as f64 / wall,
            }),
            saved: saved.filter(|_| at == 0 || accepts(case, row)),
        }
    };
    if claims.is_empty() {
        return vec![MeasuredChange {
            cause: NOTHING.to_owned(),
            known: SavingBasis::Assumed,
            family: case.facts.family.clone(),
            first: true,
            truth: truth(false),
            allowed: None,
            saved,
        }];
    }
    claims.iter().enumerate().filter(|(_, (row, _))| seen.insert(row.cause.clone())).map(one).collect()
}

fn accepts(case: &Case, row: &FindingRow) -> bool {
    case.facts.causes.contains(&row.cause)
}

/// What a finding says of where.
fn texts(row: &FindingRow) -> impl Iterator<Item = &str> {
    [&row.place, &row.action].into_iter().chain(&row.evidence).map(String::as_str)
}

/// A line for each recording.
fn table(all: &[Judged]) -> String {
    let mut text = String::new();
    for one in all {
        let yes = |is: bool| if is { "yes" } else { "no" };
        let saving = match one.saving {
            Some(Saving { saved, predicted, score, .. }) => {
                let predicted = match predicted {
                    Some((lo, hi)) => format!("{lo:.3}-{hi:.3}"),
                    None => "-".to_owned(),
                };
                format!("saved {saved:.3} predicted {predicted} score {score:.3}")
            }
            None => String::new(),
        };
        let place = one.place.map_or("-", yes);
        let line = format!(
            "{} {} {} right {} place {place} {saving}",
            one.case,
            one.condition,
            one.first,
            yes(one.right)
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// What is worse than what is committed.
fn worse(committed: &str, now: &[Judged]) -> Vec<String> {
    let key = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let before: BTreeMap<String, &str> = committed.lines().map(|line| (key(line), line)).collect();
    let after = table(now);
    let score = |line: &str| line.rsplit_once(" score ").and_then(|(_, score)| score.parse::<f64>().ok());
    let is_worse = |line: &&str| {
        let Some(before) = before.get(&key(line)) else { return false };
        let lost =
            |what: &str| before.contains(&format!("{what} yes")) && line.contains(&format!("{what} no"));
        let score = score(before).zip(score(line)).is_some_and(|(before, now)| now > before + WORSE);
        lost("right") || lost("place") || score
    };
    after.lines().filter(is_worse).map(|line| format!("{line}\nbefore: {}", before[&key(line)])).collect()
}

/// How many cases have the same first finding in their recordings with BPF, quiet and beside
/// others.
fn stable(all: &[Judged]) -> String {
    let mut cases = BTreeMap::<&str, Vec<&str>>::new();
    for one in all.iter().filter(|one| one.condition.ends_with("-bpf")) {
        cases.entry(&one.case).or_default().push(&one.first);
    }
    let several: Vec<_> = cases.values().filter(|firsts| firsts.len() > 1).collect();
    let same = several.iter().filter(|firsts| firsts.iter().all(|first| *first == firsts[0])).count();
    format!("{same} of {} have the same first finding quiet and beside others", several.len())
}

/// How often it was right, by what was recorded and by cause.
fn totals(cases: &[Case], all: &[Judged]) -> String {
    let of_name: BTreeMap<&str, &Case> = cases.iter().map(|case| (&*case.name, case)).collect();
    let case = |one: &Judged| of_name[&*one.case];
    let head =
        ["", "recordings", "first right", "place", "held", "score", "strict", "any", "wall", "place/3"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut add = |name: &str, of: &[&Judged]| {
        if of.is_empty() {
            return;
        }
        // Healthy programs stand apart.
        let scored = of.iter().filter(|one| name == HEALTHY || !case(one).is_healthy());
        let savings: Vec<Saving> = scored.filter_map(|one| one.saving).collect();
        let share =
            |count: usize, all: usize| if all == 0 { "-".to_owned() } else { format!("{count}/{all}") };
        let mean = |of: fn(&Saving) -> f64| match savings.len() {
            0 => "-".to_owned(),
            count => format!("{:.2}", savings.iter().map(of).sum::<f64>() / count as f64),
        };
        let places: Vec<bool> = of.iter().filter_map(|one| one.place).collect();
        rows.push(vec![
            name.to_owned(),
            of.len().to_string(),
            share(of.iter().filter(|one| one.right).count(), of.len()),
            share(places.iter().filter(|place| **place).count(), places.len()),
            share(savings.iter().filter(|saving| saving.held).count(), savings.len()),
            mean(|saving| saving.score),
            mean(|saving| saving.strict),
            mean(|saving| saving.of_any),
            mean(|saving| saving.of_wall),
            mean(|saving| saving.of_place),
        ]);
    };
    let those = |which: &dyn Fn(&Judged) -> bool| all.iter().filter(|one| which(one)).collect::<Vec<_>>();
    add("all", &those(&|_| true));
    add("of a report", &those(&|one| case(one).facts.report.is_some()));
    add("with a cause", &those(&|one| !case(one).is_healthy()));
    add(HEALTHY, &those(&|one| case(one).is_healthy()));
    for part in PARTS {
        add(part, &those(&|one| one.condition.ends_with(part)));
    }
    let mut causes: Vec<&String> = cases.iter().flat_map(|case| case.facts.causes.first()).collect();
    causes.sort();
    causes.dedup();
    for cause in causes {
        add(cause, &those(&|one| case(one).facts.causes.first() == Some(cause)));
    }
    let families = |of: &str| {
        let of = |case: &&Case| of.is_empty() || case.facts.language == of;
        let mut all: Vec<&str> = cases.iter().filter(of).map(|case| &*case.facts.family).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    };
    format!(
        "{}\n{}\n{} cases of {} families; {}\n",
        workshop::table::layout(&rows, false),
        by_outcome(&all.iter().filter(|one| !case(one).is_healthy()).collect::<Vec<_>>()),
        cases.len(),
        families(""),
        stable(all)
    )
}

/// What each outcome adds to the score of programs that have something to change: how many
/// recordings, their mean, and their part of the whole mean, by what was recorded.
fn by_outcome(slow: &[&Judged]) -> String {
    let head = std::iter::once("").chain(PARTS).map(str::to_owned).collect();
    let mut rows: Vec<Vec<String>> = vec![head];
    for (outcome, name) in Outcome::ALL {
        let cell = |part: &&str| {
            let of_part = slow.iter().filter(|one| one.condition.ends_with(part));
            let scored: Vec<_> = of_part.filter_map(|one| Some((one.outcome, one.saving?.score))).collect();
            let of = scored.iter().filter(|(of, _)| *of == outcome);
            let (count, sum) = of.fold((0, 0.0), |(count, sum), (_, score)| (count + 1, sum + score));
            let (mean, part) = (sum / f64::from(count.max(1)), sum / scored.len().max(1) as f64);
            if count == 0 { "-".to_owned() } else { format!("{count} x {mean:.2} = {part:.2}") }
        };
        rows.push(std::iter::once(name.to_owned()).chain(PARTS.iter().map(cell)).collect());
    }
    workshop::table::layout(&rows, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_recording_is_judged_worse_than_before_and_the_readme_has_the_score() {
        let cases = Case::all().expect("the corpus can be read");
        let all = judged(&cases, &[]).expect("recordings can be read");
        let worse = worse(&fs::read_to_string(committed()).expect("corpus/score.txt"), &all);
        assert!(worse.is_empty(), "{}", worse.join("\n"));
        let readme = fs::read_to_string(workshop::shell::root().join("README.md")).expect("README.md");
        for part in PARTS {
            let of: Vec<bool> =
                all.iter().filter(|one| one.condition.ends_with(part)).map(|one| one.right).collect();
            let right = format!("| {} of {} |", of.iter().filter(|right| **right).count(), of.len());
            assert!(readme.contains(&right), "the README does not say {right:?} of {part}");
        }
    }

    #[test]
    fn worse_is_what_was_right_and_is_wrong_or_misses_by_more() {
        let of = |right: bool, score: f64| Judged {
            case: "a".into(),
            condition: "x-quiet-bpf".into(),
            first: "small-io".into(),
            right,
            place: None,
            changes: Vec::new(),
            miss: None,
            outcome: Outcome::of(None, right, false),
            saving: Some(Saving {
                saved: 0.5,
                predicted: None,
                held: false,
                score,
                strict: score,
                of_wall: 1.0,
                of_place: 1.0,
                of_any: 1.0,
            }),
        };
        let before = table(&[of(true, 0.50)]);
        assert!(worse(&before, &[of(true, 0.51)]).is_empty());
        assert_eq!(worse(&before, &[of(true, 0.53)]).len(), 1);
        assert_eq!(worse(&before, &[of(false, 0.40)]).len(), 1);
        assert!(worse("", &[of(false, 5.0)]).is_empty(), "a new recording is not worse than none");
    }
}
