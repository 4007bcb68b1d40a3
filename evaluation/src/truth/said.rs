//! What dwell says of a run or a window, from its JSON (`docs/schema/dwell.run.1.json`).

use super::program::JIT;
use super::sched::Tid;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// States on a CPU, as far as a trace of the scheduler knows: it does not see that the CPU was
/// stolen. Versions that do not know interrupts or steal apart have no such state.
const ON_CPU: [&str; 6] = ["user", "kernel", "fault", "interrupt", "interrupts", "steal"];
const RUNNABLE: [&str; 2] = ["runqueue", "throttled"];

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
    pub(crate) fn of(state: &str) -> Self {
        match state {
            _ if ON_CPU.contains(&state) => Self::OnCpu,
            _ if RUNNABLE.contains(&state) => Self::Runnable,
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
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) class: String,
    pub(crate) wall_ns: u64,
    pub(crate) is_window: bool,
    pub(crate) account: Vec<Part>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) calls: BTreeMap<String, Calls>,
    pub(crate) functions: Vec<Function>,
    /// The causes that were found, in order; none where dwell did not look for any.
    pub(crate) findings: Option<Vec<String>>,
    pub(crate) lost_events: u64,
    /// The page for people.
    pub(crate) page: String,
}

/// A part of the account.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    pub(crate) state: String,
    pub(crate) ns: u64,
    pub(crate) lo_ns: u64,
    pub(crate) hi_ns: u64,
}

/// A thread's time by state.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Thread {
    pub(crate) tid: Tid,
    pub(crate) idle: bool,
    pub(crate) states: BTreeMap<String, u64>,
}

/// How often a system call was made: at least, and at most where that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) calls: u64,
    pub(crate) lo: u64,
    pub(crate) hi: Option<u64>,
}

/// A function's share of all samples, with what it called.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) total_percent: f64,
}

impl Said {
    /// Reads the JSON; the page is kept as it is.
    ///
    /// # Errors
    /// When something is missing, or the program did not end well.
    pub(crate) fn read(text: &str, page: String) -> Result<Self> {
        let json: Value = serde_json::from_str(text).context("dwell's JSON cannot be read")?;
        match (json["exit"]["code"].as_i64(), &json["exit"]["signal"]) {
            (Some(0), _) | (None, Value::Null) => {}
            (code, signal) => bail!("the program ended with {code:?}, signal {signal}"),
        }
        let rows = |name: &str| json[name].as_array().map_or(&[][..], Vec::as_slice);
        let account = rows("account").iter().map(part).collect::<Result<Vec<_>>>()?;
        ensure!(!account.is_empty(), "dwell's JSON has no account");
        Ok(Self {
            class: json["bound"]["class"].as_str().context("dwell says no class")?.to_owned(),
            wall_ns: number(&json, "wall_ns")?,
            is_window: json["window"].is_object(),
            account,
            threads: rows("threads").iter().map(thread).collect::<Result<_>>()?,
            calls: rows("syscalls").iter().filter_map(calls).collect(),
            functions: rows("functions").iter().filter_map(function).collect(),
            findings: json["findings"].as_array().map(|rows| causes(rows)),
            lost_events: json["coverage"]["lost_events"].as_u64().unwrap_or(0),
            page,
        })
    }

    pub(crate) fn whole_ns(&self) -> u64 {
        self.account.iter().map(|part| part.ns).sum()
    }

    /// The share of a kind in the account, in percent: its value, and the interval in which dwell
    /// says it is.
    pub(crate) fn percent(&self, kind: Kind) -> [f64; 3] {
        let whole = self.whole_ns().max(1) as f64;
        let sum = |is_of: &dyn Fn(Kind) -> bool, ns: fn(&Part) -> u64| {
            let parts = self.account.iter().filter(|part| is_of(Kind::of(&part.state)));
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
        let states = || self.threads.iter().flat_map(|thread| &thread.states);
        let on = states().filter(|(state, _)| Kind::of(state) == Kind::OnCpu).map(|(_, ns)| ns).sum();
        (on, states().filter(|(state, _)| *state == "user").map(|(_, ns)| ns).sum())
    }

    /// Half the width of the interval of user time in the account, in percent of the time on CPUs.
    pub(crate) fn user_doubt_percent(&self) -> f64 {
        let on_cpu = self.account.iter().filter(|part| Kind::of(&part.state) == Kind::OnCpu);
        let on_cpu_ns: u64 = on_cpu.map(|part| part.ns).sum();
        let user = self.account.iter().find(|part| part.state == "user");
        let doubt = user.map_or(0, |part| (part.hi_ns - part.ns).max(part.ns - part.lo_ns));
        doubt as f64 / on_cpu_ns.max(1) as f64 * 100.0
    }

    pub(crate) fn in_state(&self, state: &str) -> u64 {
        self.account.iter().filter(|part| part.state == state).map(|part| part.ns).sum()
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
        self.threads.iter().any(|thread| thread.tid == SEVERAL)
    }

    /// Whether it is not known of each thread if it only waits for work: rows for several are among
    /// both.
    pub(crate) fn mixes_threads(&self) -> bool {
        let several = |idle| self.threads.iter().any(|thread| thread.tid == SEVERAL && thread.idle == idle);
        several(true) && several(false)
    }

    /// The threads whose time the account of a window is, of those of the tree. Where a row stands
    /// for several, which has no number, that is all but those that are said to be idle.
    pub(crate) fn counted_threads(&self, tree: &BTreeSet<Tid>) -> BTreeSet<Tid> {
        let all_idle = self.threads.iter().all(|thread| thread.idle);
        let (counted, idle): (Vec<_>, Vec<_>) =
            self.threads.iter().partition(|thread| all_idle || !thread.idle);
        let numbers =
            |threads: Vec<&Thread>| threads.iter().map(|thread| thread.tid).collect::<BTreeSet<_>>();
        if counted.iter().any(|thread| thread.tid == SEVERAL) {
            return tree.difference(&numbers(idle)).copied().collect();
        }
        numbers(counted)
    }
}

fn causes(rows: &[Value]) -> Vec<String> {
    rows.iter().filter_map(|row| row["cause"].as_str()).map(str::to_owned).collect()
}

fn number(json: &Value, name: &str) -> Result<u64> {
    json[name].as_u64().with_context(|| format!("dwell's JSON has no number {name}"))
}

fn part(row: &Value) -> Result<Part> {
    Ok(Part {
        state: row["state"].as_str().context("a part of the account has no state")?.to_owned(),
        ns: number(row, "ns")?,
        lo_ns: number(row, "lo_ns")?,
        hi_ns: number(row, "hi_ns")?,
    })
}

fn thread(row: &Value) -> Result<Thread> {
    let states = row["states"].as_object().context("a thread has no states")?;
    Ok(Thread {
        tid: Tid::try_from(number(row, "tid")?).context("a thread's number is too large")?,
        idle: row["idle"].as_bool().unwrap_or(false),
        states: states.iter().filter_map(|(state, ns)| Some((state.clone(), ns.as_u64()?))).collect(),
    })
}

fn function(row: &Value) -> Option<Function> {
    let total_percent = row["total"]["value"].as_f64()? * 100.0;
    // `[jit:hotspot]` and the like: all code of a JIT that has no name, and no function.
    let name = if row["unnamed"].is_object() { JIT } else { row["name"].as_str()? };
    Some(Function { name: name.to_owned(), total_percent })
}

fn calls(row: &Value) -> Option<(String, Calls)> {
    let calls = row["calls"].as_u64()?;
    let estimate = &row["estimate"];
    let said = if estimate.is_object() {
        Calls {
            calls: estimate["calls"].as_u64()?,
            lo: estimate["lo"].as_u64()?,
            hi: estimate["hi"].as_u64(),
        }
    } else {
        Calls { calls, lo: calls, hi: Some(calls) }
    };
    Some((row["name"].as_str()?.to_owned(), said))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{
        "exit": {"code": 0}, "wall_ns": 1000, "bound": {"class": "cpu"},
        "account": [
            {"state": "user", "ns": 600, "lo_ns": 500, "hi_ns": 650},
            {"state": "kernel", "ns": 100, "lo_ns": 100, "hi_ns": 100},
            {"state": "runqueue", "ns": 50, "lo_ns": 40, "hi_ns": 60},
            {"state": "disk", "ns": 250, "lo_ns": 250, "hi_ns": 250}],
        "threads": [
            {"tid": 5, "idle": false, "states": {"user": 600, "disk": 300}},
            {"tid": 6, "idle": true, "states": {"kernel": 200, "new-state": 9}}],
        "syscalls": [
            {"name": "read", "calls": 12},
            {"name": "futex", "calls": 3, "estimate": {"seen": 1, "calls": 30, "lo": 10, "hi": null}}],
        "functions": [
            {"name": "spin", "share": {"value": 0.25}, "total": {"value": 0.5}}],
        "coverage": {"lost_events": 4}}"#;

    fn read(text: &str) -> Result<Said> {
        Said::read(text, String::new())
    }

    #[test]
    fn the_account_has_three_kinds_with_their_intervals() {
        let said = read(TEXT).unwrap();
        assert_eq!(said.percent(Kind::OnCpu), [70.0, 69.0, 71.0]);
        assert_eq!(said.percent(Kind::Runnable), [5.0, 4.0, 6.0]);
        assert_eq!(said.percent(Kind::Blocked), [25.0, 25.0, 25.0]);
        assert!((said.user_doubt_percent() - 100.0 / 7.0).abs() < 1e-9);
        assert_eq!(said.functions, [Function { name: "spin".to_owned(), total_percent: 50.0 }]);
        assert_eq!((said.class.as_str(), said.lost_events, said.in_state("disk")), ("cpu", 4, 250));
    }

    /// Else `hot` would be found in `hotspot`.
    #[test]
    fn code_of_a_jit_without_names_is_called_that() {
        let row = r#"{"name": "[jit:hotspot]", "total": {"value": 0.5}, "unnamed": {"runtime": "hotspot"}}"#;
        let said = read(&TEXT.replace(r#"{"name": "spin""#, &format!(r#"{row}, {{"name": "spin""#))).unwrap();
        let names: Vec<_> = said.functions.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, [JIT, "spin"]);
    }

    #[test]
    fn cpu_time_is_of_all_threads_and_a_window_of_the_active_ones() {
        let said = read(TEXT).unwrap();
        assert_eq!(said.cpu_ns(), (800, 600));
        let tree = BTreeSet::from([5, 6, 7]);
        assert_eq!(said.counted_threads(&tree), [5].into());
        let idle = read(&TEXT.replace("\"idle\": false", "\"idle\": true")).unwrap();
        assert_eq!(idle.counted_threads(&tree), [5, 6].into());
        // A row for several.
        let several = read(&TEXT.replace("\"tid\": 5", "\"tid\": 0")).unwrap();
        assert_eq!(several.counted_threads(&tree), [5, 7].into());
        let both = read(&TEXT.replace("\"tid\": 5", "\"tid\": 0").replace("\"tid\": 6", "\"tid\": 0"));
        assert_eq!((several.mixes_threads(), both.unwrap().mixes_threads()), (false, true));
    }

    #[test]
    fn estimated_counts_keep_their_bounds() {
        let said = read(TEXT).unwrap();
        assert_eq!(said.calls["read"], Calls { calls: 12, lo: 12, hi: Some(12) });
        assert_eq!(said.calls["futex"], Calls { calls: 30, lo: 10, hi: None });
    }

    /// The kept results of dwell are what it writes now.
    #[test]
    fn real_results_are_read_whole() {
        for name in ["mutex", "attach-busy"] {
            let path = workshop::shell::root().join(format!("crates/golden/recordings/{name}.json"));
            let said = read(&std::fs::read_to_string(path).unwrap()).unwrap();
            assert_eq!(said.is_window, name == "attach-busy");
            assert!(said.whole_ns() > 0 && said.wall_ns > 0 && !said.threads.is_empty(), "{name}");
            let sum: f64 = Kind::ALL.iter().map(|&kind| said.percent(kind)[0]).sum();
            assert!((sum - 100.0).abs() < 1e-6, "{name}: {sum}");
        }
    }

    /// A state that is named otherwise would count as blocked.
    #[test]
    fn states_are_named_as_the_schema_names_them() {
        let path = workshop::shell::root().join("docs/schema/dwell.run.1.json");
        let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let names = schema["$defs"]["state"]["enum"].as_array().unwrap();
        for name in ["user", "kernel", "fault"].iter().chain(&RUNNABLE) {
            assert!(names.contains(&Value::from(*name)), "{name}");
        }
    }

    #[test]
    fn a_word_of_the_page_is_whole() {
        let said = Said { page: "held by postgres (PID 1234)\n".to_owned(), ..Said::default() };
        assert!(said.names("1234") && said.names("held"));
        assert!(!said.names("123") && !said.names("234") && !said.names("post"));
    }

    #[test]
    fn a_program_that_failed_says_nothing_true() {
        assert!(read(&TEXT.replace("\"code\": 0", "\"code\": 1")).is_err());
        assert!(read(&TEXT.replace("\"code\": 0", "\"signal\": 9")).is_err());
        assert!(read(&TEXT.replace("\"code\": 0", "\"window\": \"for\"")).is_ok());
        assert!(read("{}").is_err());
    }
}
