//! Programs in each form that a cause is looked for in, and what is claimed of the causes that a
//! run shows.

use super::{Claims, Told};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Who runs dwell, beside what.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Alone,
    BesideBusyLoops,
    AsNobody,
}

impl How {
    /// For a script: the words before dwell, and the line that starts what is beside it, whose PIDs
    /// are added to `pids`.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            How::Alone => ("", ""),
            How::AsNobody => ("setpriv --reuid 65534 --regid 65534 --clear-groups", ""),
            How::BesideBusyLoops => {
                let loops = "for cpu in $(seq 0 $(($(nproc) - 1))); do \
                             timeout 40 taskset -c $cpu sh -c 'while :; do :; done' & pids=\"$pids $!\"; done";
                ("", loops)
            }
        }
    }
}

/// What came of a script that has dwell write `run.json` and `page`, and its program `out`, in this
/// place; `within` are words before the shell.
pub(crate) fn told_by_script(place: &Path, within: &[&str], script: &str) -> Told {
    let mut launcher = Command::new("timeout");
    launcher.args(["-k", "5", "60"]).args(within).args(["sh", "-c", script]);
    let status = launcher.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let text = |name: &str| fs::read_to_string(place.join(name)).unwrap_or_default();
    let (page, out) = (text("page"), text("out"));
    let run = serde_json::from_str(&text("run.json"))
        .unwrap_or_else(|error| panic!("no account of {script}: {error}; {status:?}\n{page}"));
    Told { run, page, out, code: status.ok().and_then(|status| status.code()) }
}

/// The rows of a table of causes, each with its cause.
fn rows<'a>(told: &'a Told, of: &str) -> Vec<(&'a str, &'a Value)> {
    let rows = told.run[of].as_array().into_iter().flatten();
    rows.map(|row| (row["cause"].as_str().unwrap_or_default(), row)).collect()
}

/// The causes that were found, in their order.
fn found(told: &Told) -> Vec<&str> {
    rows(told, "findings").into_iter().map(|(cause, _)| cause).collect()
}

impl Claims {
    /// This cause comes first; its sentence has this in it, and its saving is one.
    pub(crate) fn first(&mut self, told: &Told, cause: &str, says: &str) {
        let findings = rows(told, "findings");
        self.equal("what comes first", findings.first().map(|(cause, _)| *cause), Some(cause));
        let Some((_, finding)) = findings.first() else { return };
        let place = finding["where"].as_str().unwrap_or_default();
        self.that(place.contains(says), format!("{says:?} is not in {place:?}"));
        let ends = [&finding["saving_ns"]["lo"], &finding["saving_ns"]["hi"]].map(Value::as_u64);
        let [Some(lo), Some(hi)] = ends else {
            return self.that(false, format!("no saving: {}", finding["saving_ns"]));
        };
        self.that(0 < hi && lo <= hi && hi <= told.wall(), format!("it saves {lo} to {hi} ns"));
    }

    /// This cause comes first, or after time that other programs had the CPUs for.
    pub(crate) fn among_first(&mut self, told: &Told, cause: &str) {
        self.after_none_but(told, cause, &["cpu-contention"]);
    }

    /// This cause is found, and before it none but these, which are true as well.
    pub(crate) fn after_none_but(&mut self, told: &Told, cause: &str, also: &[&str]) {
        let found = found(told);
        let place = found.iter().position(|found| *found == cause);
        let so = place.is_some_and(|place| found[..place].iter().all(|before| also.contains(&&**before)));
        self.that(so, format!("{cause} among {found:?}"));
    }

    /// This cause was looked for, or could not be, and is not claimed.
    pub(crate) fn not_found(&mut self, told: &Told, cause: &str) {
        let found = found(told);
        self.that(!found.contains(&cause), format!("{cause} among {found:?}"));
    }

    /// This cause, which is there, could not be looked for, and the reason is given; or it is found
    /// by what is seen all the same.
    pub(crate) fn found_or_not_looked_for(&mut self, told: &Told, cause: &str) {
        if found(told).contains(&cause) {
            return;
        }
        let why = rows(told, "not_looked_for").into_iter().find(|(other, _)| *other == cause);
        let why = why.and_then(|(_, row)| row["why"].as_str()).unwrap_or_default();
        self.that(!why.is_empty(), format!("it is not said why {cause} was not looked for"));
    }
}
