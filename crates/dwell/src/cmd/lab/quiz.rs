//! A quiz: the page of a program whose name is hidden, what somebody says of it, and what is true.

use super::bench::{Asked, Bench, PairRun};
use super::pair::{described, missing};
use crate::cli::{self, LabArgs};
use crate::exit;
use crate::keep::ResultStore;
use crate::look::{OutputKind, look};
use crate::out::{self, Outputs};
use crate::output;
use crate::progress::ProgressLine;
use crate::stop::Stop;
use crate::suggest;
use anyhow::{Context, bail};
use model::RunResult;
use model::lab::{LabQuiz, QuizAnswer, SCHEMA_QUIZ};
use model::recording::Tier;
use pairs::Pair;
use report::Look;
use stats::Random;
use std::collections::BTreeSet;
use std::io::{self, BufRead};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;
use sys::clock::{monotonic_ns, rfc3339, unix_s};
use sys::poll;
use sys::signals::Signals;

/// Pairs of runs by default.
const PAIRS: u32 = 10;
/// Between these the slow program's wall clock is drawn.
const LEAST_NS: f64 = 3e8;
const MOST_NS: f64 = 1.2e9;
/// Causes in a line of the list.
const ABREAST: usize = 3;
/// How often a signal is looked for while an answer is awaited.
const LOOK: Duration = Duration::from_millis(200);

/// Asks and grades; returns the exit status.
pub(super) fn quiz(args: &LabArgs, keeper: &mut ResultStore) -> anyhow::Result<u8> {
    let causes = causes();
    let mut answer = match (&args.answer, args.saving) {
        (Some(cause), Some(saving)) => {
            Some(QuizAnswer { cause: named(cause, &causes).map_err(anyhow::Error::msg)?, saving })
        }
        _ => None,
    };
    let seed = args.seed.unwrap_or_else(|| (monotonic_ns() ^ unix_s().rotate_left(32)) % 10_000);
    let Drawn { pair, aim_ns, instead_of } =
        drawn(seed, missing).context("no program of the lab can be run here")?;
    let other = format!("seed {seed} has another program for those who can run it; here");
    let instead = instead_of.map(|why| format!("{other} {why}\n"));
    // Opening waits for the reader of a pipe: a signal ends that.
    let outputs = Outputs::open(&args.outputs.forms, args.outputs.page(), None, &[])?;
    let mut signals = Signals::take_over().context("cannot handle signals")?;
    let (host, started_at) = (observe::this_host(), rfc3339(unix_s()));
    let stop = Stop::new(&mut signals);
    let line = ProgressLine::new(args.outputs.quiet);
    let bench = Bench::new(args.dir.as_deref(), &stop, &line)?;
    let Some(size) = fitted(&bench, pair, aim_ns)? else {
        return Ok(stop.status().unwrap_or(exit::DWELL_FAILED));
    };
    let asked = Asked { size, pairs: args.pairs.unwrap_or(PAIRS), hidden: true, ..Asked::default() };
    let shown = look(&args.outputs.look, OutputKind::Stdout);
    let held = bench.hold_with(pair, &asked, Some(&String::new), &mut |result| {
        line.put(String::new);
        if !args.outputs.quiet {
            let instead = instead.as_deref().unwrap_or_default();
            output::to_stdout(page(&hidden(result, pair)?, seed, instead, &causes, shown))?;
        }
        if answer.is_none() {
            answer = asked_for(&causes, &stop)?;
        }
        Ok(answer.is_some())
    });
    drop(bench);
    drop(line);
    let ended_by = stop.status();
    // Writing may wait: for the reader of a pipe, for a disk.
    signals.outlast_one();
    let (held, answer) = match (held?, answer) {
        (Some(PairRun { sitting, ended_early: None, .. }), Some(answer)) => (sitting, answer),
        _ => return Ok(ended_by.unwrap_or(0)),
    };
    let pair = described(pair);
    let grade = analyse::lab::grade(&pair, &held, &answer);
    let dwell = env!("CARGO_PKG_VERSION").to_owned();
    let schema = SCHEMA_QUIZ.to_owned();
    let quiz = LabQuiz { schema, dwell, host, started_at, seed, pair, sitting: held, answer, grade };
    let failed = outputs.write(&quiz, &args.outputs.look).complain();
    keeper.offer(&quiz, None);
    Ok(if failed { exit::DWELL_FAILED } else { 0 })
}

/// The causes that programs of the lab have.
fn causes() -> Vec<&'static str> {
    pairs::ALL.iter().filter_map(|pair| pair.cause).collect::<BTreeSet<_>>().into_iter().collect()
}

/// A cause by its name, or by its number in the list.
fn named(text: &str, causes: &[&str]) -> Result<String, String> {
    let at = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let found = at.and_then(|at| causes.get(at)).or_else(|| causes.iter().find(|cause| **cause == text));
    found.map(|cause| (*cause).to_owned()).ok_or_else(|| {
        let near = suggest::nearest(text, causes.iter().copied());
        let near = if near.is_empty() { causes.join(", ") } else { near.join(", ") };
        format!("no program of the lab has the cause {text:?}\ntry: {near}")
    })
}

/// What a seed has for this user.
struct Drawn {
    pair: &'static Pair,
    /// How long its slow program is to run.
    aim_ns: f64,
    /// Why the program that the seed has for others cannot be run.
    instead_of: Option<String>,
}

/// The first pair of a seed that can be run here: of two users of a seed both have the same one, if
/// both can run it.
fn drawn(seed: u64, missing: impl Fn(&Pair) -> Option<String>) -> Option<Drawn> {
    let mut left: Vec<&'static Pair> =
        pairs::ALL.iter().copied().filter(|pair| pair.cause.is_some()).collect();
    let mut random = Random::new(seed);
    let aim_ns = LEAST_NS * (MOST_NS / LEAST_NS).powf(random.uniform());
    let mut instead_of = None;
    while !left.is_empty() {
        let at = (random.uniform() * left.len() as f64) as usize;
        let pair = left.swap_remove(at.min(left.len() - 1));
        match missing(pair) {
            None => return Some(Drawn { pair, aim_ns, instead_of }),
            Some(why) => instead_of = instead_of.or(Some(why)),
        }
    }
    None
}

/// The size at which the slow program runs about as long here, between the least at which its cause
/// was judged and four times the most; none if a signal ended it.
fn fitted(bench: &Bench<'_, '_>, pair: &'static Pair, aim_ns: f64) -> anyhow::Result<Option<u64>> {
    let least = pair.size.least;
    let Some(wall_ns) = bench.wall_ns(pair, least)? else { return Ok(None) };
    let size = least as f64 * aim_ns / wall_ns.max(1) as f64;
    Ok(Some((size as u64).clamp(least, 4 * pair.size.most)))
}

/// The result without what names the pair.
fn hidden(result: &RunResult, pair: &Pair) -> anyhow::Result<RunResult> {
    let mut text = report::result::without_stacks(result);
    let module = pair.name.replace('-', "_");
    for (way, word) in pair.ways.iter().zip(["slow", "fast"].into_iter().chain(std::iter::repeat("other"))) {
        let function = way.name.replace('-', "_");
        text = text.replace(&format!("::{module}::{function}"), &format!("::program::{word}"));
        if let pairs::Run::Foreign(source) = way.run {
            text = text.replace(source.file, "program");
        }
    }
    // Programs of the lab are dwell itself, which tells nobody what they do.
    for key in ["name", "process"] {
        text = text.replace(&format!("\"{key}\": \"dwell\""), &format!("\"{key}\": \"program\""));
    }
    text = text.replace(&format!("::{module}::"), "::program::");
    text = text.replace(&format!("{module}.rs"), "program.rs");
    let mut hidden = out::read_run(Path::new("the result"), serde_json::from_str(&text)?)?;
    hidden.run.command = vec!["./program".to_owned()];
    Ok(hidden)
}

/// What is shown of it, and what is asked.
fn page(hidden: &RunResult, seed: u64, instead: &str, causes: &[&str], look: Look) -> String {
    let listed = |(at, cause): (usize, &&str)| {
        let end = if (at + 1) % ABREAST == 0 || at + 1 == causes.len() { "\n" } else { "" };
        format!("{:3} {cause:20}{end}", at + 1)
    };
    let list: String = causes.iter().enumerate().map(listed).collect();
    let lacks = match hidden.run.tier() {
        Tier::Bpf => "",
        Tier::Perf | Tier::Proc => {
            "\nfor this user the page lacks calls and wake-ups: sudo dwell lab --quiz has them\n"
        }
    };
    format!(
        "{}{lacks}\n{instead}quiz {seed}: which cause does this program have, and what does its removal save?\n{list}",
        report::unexplained(&hidden.run, &hidden.diagnosis, look),
    )
}

/// The answer on standard input; none at its end, or if a signal came.
fn asked_for(causes: &[&str], stop: &Stop<'_>) -> anyhow::Result<Option<QuizAnswer>> {
    let Some(cause) = line("cause (its name or number): ", stop, |text| named(text, causes))? else {
        return Ok(None);
    };
    let saving = line("it saves LOW-HIGH % of the wall clock: ", stop, cli::saving)?;
    Ok(saving.map(|saving| QuizAnswer { cause, saving }))
}

/// A line that can be read as what is asked for; another one is asked for again.
fn line<T>(
    question: &str,
    stop: &Stop<'_>,
    read: impl Fn(&str) -> Result<T, String>,
) -> anyhow::Result<Option<T>> {
    loop {
        output::to_stderr(question);
        while !poll::wait(&[io::stdin().as_fd()], Some(LOOK))?[0] {
            if stop.asked() {
                return Ok(None);
            }
        }
        let mut text = String::new();
        if io::stdin().lock().read_line(&mut text).context("cannot read the answer")? == 0 {
            bail!("there is no answer\ntry: dwell lab --quiz --answer CAUSE --saving LOW-HIGH");
        }
        match read(text.trim()) {
            Ok(answer) => return Ok(Some(answer)),
            Err(why) => output::complain(&output::clean_lines(&why)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pairs::Need;

    #[test]
    fn a_seed_draws_the_same_program_again_and_others_draw_others() {
        let of = |seed| drawn(seed, |_| None).map(|drawn| (drawn.pair.name, drawn.aim_ns));
        let all: Vec<_> = (0..200).filter_map(of).collect();
        let again: Vec<_> = (0..200).filter_map(of).collect();
        assert_eq!(all, again);
        let names: BTreeSet<_> = all.iter().map(|(name, _)| name).collect();
        assert!(all.len() == 200 && names.len() > 15, "{names:?}");
        assert!(all.iter().all(|(_, aim)| (LEAST_NS..=MOST_NS).contains(aim)));
    }

    #[test]
    fn who_can_run_fewer_programs_has_the_same_one_where_he_can_run_it() {
        let needs_root = |pair: &Pair| pair.needs.contains(&Need::Root).then(|| "it needs root".to_owned());
        let mut others = 0;
        for seed in 0..200 {
            let (root, user) = (drawn(seed, |_| None).unwrap(), drawn(seed, needs_root).unwrap());
            let cannot = needs_root(root.pair).is_some();
            assert_eq!(root.pair.name != user.pair.name, cannot, "{seed}");
            assert_eq!((user.instead_of.is_some(), user.aim_ns), (cannot, root.aim_ns), "{seed}");
            others += u32::from(cannot);
        }
        assert!(others > 0 && drawn(7, |_| Some(String::new())).is_none());
    }

    #[test]
    fn a_cause_is_called_by_its_name_or_its_number() {
        let causes = causes();
        assert_eq!(named("1", &causes).unwrap(), causes[0]);
        assert_eq!(named("sync-writes", &causes).unwrap(), "sync-writes");
        assert!(named("sync-write", &causes).unwrap_err().contains("try: sync-writes"));
        for wrong in ["0", "99", "", "-1"] {
            assert!(named(wrong, &causes).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_bet_is_an_interval_of_percents() {
        let ends = cli::saving("40-90").unwrap();
        assert!((ends.lo - 0.4).abs() < 1e-9 && (ends.hi - 0.9).abs() < 1e-9);
        assert!(cli::saving(" 5 - 5 % ").is_ok());
        for wrong in ["", "40", "90-40", "40-400", "a-b", "nan-50", "40-nan"] {
            assert!(cli::saving(wrong).is_err(), "{wrong:?}");
        }
    }
}
