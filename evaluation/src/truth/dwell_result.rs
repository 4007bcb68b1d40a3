//! What dwell says of a run or a window: its result, and its page for people.

use super::program::JIT;
use super::sched::Tid;
use anyhow::{Context, Result, bail, ensure};
use model::recording::Ending;
use model::run::ThreadLedger;
use model::wait::SyscallName;
use model::{AccountPart, KeptRun, Run, State};
use std::collections::BTreeSet;

/// The number of a row that stands for several threads.
const SEVERAL: Tid = 0;

/// The kinds of time that a trace of the scheduler knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    OnCpu,
    Runnable,
    Blocked,
}

impl Kind {
    pub(crate) const ALL: [Kind; 3] = [Kind::OnCpu, Kind::Runnable, Kind::Blocked];

    /// The kind of a state; what is neither on a CPU nor runnable counts as blocked.
    pub(crate) fn of(state: State) -> Self {
        match state {
            State::User | State::Kernel | State::Fault | State::Interrupt => Self::OnCpu,
            State::Runqueue | State::Throttled => Self::Runnable,
            _ => Self::Blocked,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OnCpu => "on CPU",
            Self::Runnable => "runnable",
            Self::Blocked => "blocked",
        }
    }
}

/// The result of a run or a window.
#[derive(Debug, Clone)]
pub(crate) struct DwellResult {
    pub(crate) run: Run,
    /// The causes that were found, in order; none where dwell did not look for any.
    pub(crate) findings: Option<Vec<String>>,
    /// The page for people.
    pub(crate) page: String,
}

/// How often a system call was made: at least, and at most where that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) calls: u64,
    pub(crate) lo: u64,
    pub(crate) hi: Option<u64>,
}

impl DwellResult {
    /// Reads the JSON; the page is kept as it is.
    ///
    /// # Errors
    /// When it is no result, or the program did not end well.
    pub(crate) fn read(text: &str, page: String) -> Result<Self> {
        let KeptRun { run, findings, .. } =
            serde_json::from_str(text).context("dwell's JSON cannot be read")?;
        match run.exit {
            Ending::Code(0) | Ending::Window(_) => {}
            ended => bail!("the program ended with {ended:?}"),
        }
        ensure!(!run.account.is_empty(), "dwell's JSON has no account");
        let causes =
            |rows: &Vec<_>| rows.iter().map(|row: &model::run::FindingRow| row.cause.clone()).collect();
        Ok(Self { findings: findings.value().map(causes), run, page })
    }

    pub(crate) fn is_window(&self) -> bool {
        self.run.window.is_some()
    }

    pub(crate) fn whole_ns(&self) -> u64 {
        self.run.account.iter().map(|part| part.ns).sum()
    }

    /// The share of a kind in the account, in percent: its value, and the interval in which dwell
    /// says it is.
    pub(crate) fn percent(&self, kind: Kind) -> [f64; 3] {
        let whole = self.whole_ns().max(1) as f64;
        let sum = |is_of: &dyn Fn(Kind) -> bool, ns: fn(&AccountPart) -> u64| {
            let parts = self.run.account.iter().filter(|part| is_of(Kind::of(part.state)));
            parts.map(ns).sum::<u64>() as f64 / whole * 100.0
        };
        let this = |of: Kind| of == kind;
        let value = sum(&this, |part| part.ns);
        if kind == Kind::OnCpu {
            // Its parts are uncertain against one another: the whole of them is what the others
            // leave.
            let others = |of: Kind| of != kind;
            return [value, 100.0 - sum(&others, |part| part.hi_ns), 100.0 - sum(&others, |part| part.lo_ns)];
        }
        [value, sum(&this, |part| part.lo_ns), sum(&this, |part| part.hi_ns)]
    }

    /// CPU time of all threads, on the path or not, and how much of it was user code.
    pub(crate) fn cpu_ns(&self) -> (u64, u64) {
        let states = || self.run.threads.iter().flat_map(|thread| &thread.states);
        let on = states().filter(|(state, _)| Kind::of(*state) == Kind::OnCpu).map(|(_, ns)| ns).sum();
        (on, states().filter(|(state, _)| *state == State::User).map(|(_, ns)| ns).sum())
    }

    /// Half the width of the interval of user time in the account, in percent of the time on CPUs.
    pub(crate) fn user_doubt_percent(&self) -> f64 {
        let on_cpu = self.run.account.iter().filter(|part| Kind::of(part.state) == Kind::OnCpu);
        let on_cpu_ns: u64 = on_cpu.map(|part| part.ns).sum();
        let user = self.run.account.iter().find(|part| part.state == State::User);
        let doubt = user.map_or(0, |part| (part.hi_ns - part.ns).max(part.ns - part.lo_ns));
        doubt as f64 / on_cpu_ns.max(1) as f64 * 100.0
    }

    /// How often a system call was made.
    pub(crate) fn calls(&self, name: &str) -> Option<Calls> {
        let name = SyscallName::from(name);
        let row = self.run.tables.syscalls.value()?.iter().find(|row| row.name == name)?;
        let exactly = Calls { calls: row.calls, lo: row.calls, hi: Some(row.calls) };
        Some(row.estimate.as_ref().map_or(exactly, |of| Calls { calls: of.calls, lo: of.lo, hi: of.hi }))
    }

    /// Functions, each with its share of all samples, in percent, with what it called.
    pub(crate) fn functions(&self) -> impl Iterator<Item = (&str, f64)> {
        self.run.tables.functions.value().into_iter().flatten().filter_map(|row| {
            // `[jit:hotspot]` and the like: all code of a JIT that has no name, and no function.
            let name = if row.unnamed.is_some() { JIT } else { &row.name };
            Some((name, row.total?.value * 100.0))
        })
    }

    /// Whether the page has this word, not as a part of another.
    pub(crate) fn names(&self, word: &str) -> bool {
        let edge = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
        self.page.match_indices(word).any(|(at, _)| {
            let (before, after) = (&self.page[..at], &self.page[at + word.len()..]);
            edge(before.chars().next_back()) && edge(after.chars().next())
        })
    }

    /// Whether a row stands for several threads.
    pub(crate) fn tells_together(&self) -> bool {
        self.run.threads.iter().any(|thread| number(thread) == SEVERAL)
    }

    /// Whether it is not known of each thread if it only waits for work: rows for several are among
    /// both.
    pub(crate) fn mixes_threads(&self) -> bool {
        let rows = || self.run.threads.iter().filter(|thread| number(thread) == SEVERAL);
        rows().any(|thread| thread.idle) && rows().any(|thread| !thread.idle)
    }

    /// The threads whose time the account of a window is, of those of the tree. Where a row stands
    /// for several, which has no number, that is all but those that are said to be idle.
    pub(crate) fn counted_threads(&self, tree: &BTreeSet<Tid>) -> BTreeSet<Tid> {
        let threads = &self.run.threads;
        let all_idle = threads.iter().all(|thread| thread.idle);
        let (counted, idle): (Vec<_>, Vec<_>) = threads.iter().partition(|thread| all_idle || !thread.idle);
        let numbers = |threads: Vec<&ThreadLedger>| threads.into_iter().map(number).collect::<BTreeSet<_>>();
        let counted = numbers(counted);
        if counted.contains(&SEVERAL) {
            return tree.difference(&numbers(idle)).copied().collect();
        }
        counted
    }
}

fn number(thread: &ThreadLedger) -> Tid {
    thread.tid.cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::RUN;

    fn read(text: &str) -> Result<DwellResult> {
        DwellResult::read(text, String::new())
    }

    #[test]
    fn the_account_has_three_kinds_with_their_intervals() {
        let said = read(RUN).unwrap();
        assert_eq!(said.percent(Kind::OnCpu), [70.0, 69.0, 71.0]);
        assert_eq!(said.percent(Kind::Runnable), [5.0, 4.0, 6.0]);
        assert_eq!(said.percent(Kind::Blocked), [25.0, 25.0, 25.0]);
        assert!((said.user_doubt_percent() - 100.0 / 7.0).abs() < 1e-9);
        assert_eq!(said.functions().collect::<Vec<_>>(), [("spin", 50.0)]);
    }

    /// Else `hot` would be found in `hotspot`.
    #[test]
    fn code_of_a_jit_without_names_is_called_that() {
        let unnamed = r#""name": "[jit:hotspot]", "unnamed": {"runtime": "hotspot", "pids": []}"#;
        let said = read(&RUN.replace(r#""name": "spin""#, unnamed)).unwrap();
        assert_eq!(said.functions().collect::<Vec<_>>(), [(JIT, 50.0)]);
    }

    #[test]
    fn cpu_time_is_of_all_threads_and_a_window_of_the_active_ones() {
        let said = read(RUN).unwrap();
        assert_eq!(said.cpu_ns(), (800, 600));
        let tree = BTreeSet::from([5, 6, 7]);
        assert_eq!(said.counted_threads(&tree), [5].into());
        let idle = read(&RUN.replace("\"idle\": false", "\"idle\": true")).unwrap();
        assert_eq!(idle.counted_threads(&tree), [5, 6].into());
        // A row for several.
        let several = read(&RUN.replace("\"tid\": 5", "\"tid\": 0")).unwrap();
        assert_eq!(several.counted_threads(&tree), [5, 7].into());
        let both = read(&RUN.replace("\"tid\": 5", "\"tid\": 0").replace("\"tid\": 6", "\"tid\": 0"));
        assert_eq!((several.mixes_threads(), both.unwrap().mixes_threads()), (false, true));
    }

    #[test]
    fn estimated_counts_keep_their_bounds() {
        let said = read(RUN).unwrap();
        assert_eq!(said.calls("read"), Some(Calls { calls: 12, lo: 12, hi: Some(12) }));
        assert_eq!(said.calls("futex"), Some(Calls { calls: 30, lo: 10, hi: None }));
        assert_eq!(said.calls("write"), None);
    }

    #[test]
    fn a_word_of_the_page_is_whole() {
        let said = DwellResult::read(RUN, "held by postgres (PID 1234)\n".to_owned()).unwrap();
        assert!(said.names("1234") && said.names("held"));
        assert!(!said.names("123") && !said.names("234") && !said.names("post"));
    }

    #[test]
    fn a_program_that_failed_says_nothing_true() {
        assert!(read(&RUN.replace("\"code\": 0", "\"code\": 1")).is_err());
        assert!(read(&RUN.replace("\"code\": 0", "\"signal\": 9")).is_err());
        assert!(read(&RUN.replace("\"code\": 0", "\"window\": \"for\"")).is_ok());
        assert!(read("{}").is_err());
    }
}
