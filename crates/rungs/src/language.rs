//! What an interpreter does for one line: the `python3` that stands first in `PATH`, which times
//! itself in a child process.

mod child;

use crate::bench::Bench;
use crate::{LadderRequest, Rung, RungDescription, RungGroup, Samples, Unmeasured, about};
use std::ffi::OsStr;
use std::path::Path;
use sys::resolve::{NotRunnable, resolve};

/// What the child runs.
const PROGRAM: &str = include_str!("language/rungs.py");

pub(crate) fn rungs(_: &LadderRequest) -> Vec<Rung> {
    vec![
        rung("python-call", "calling an empty function in Python", "f()"),
        rung("python-list", "creating and freeing a list of one item in Python", "[x]"),
        rung("python-object", "creating and freeing an object of an empty class in Python", "C()"),
    ]
}

fn rung(id: &str, what: &str, statement: &'static str) -> Rung {
    let about = RungDescription {
        excludes: "the loop around it, which is measured in alternation and subtracted; looking up global names; the garbage collector"
            .into(),
        method: format!(
            "`{statement}` ten times in a loop, of local names, by time.perf_counter_ns in a child process, python3 -I -S, less \
             the same loop of ten times `pass`"
        ),
        source: "Python's timeit, with the loop taken off".into(),
        needs: "python3 in PATH".into(),
        ..about(id, RungGroup::Language, what)
    };
    let measure = move |bench: &Bench<'_>| match resolve(OsStr::new("python3")) {
        Ok(python) => of_statement(bench, &python, statement),
        Err(NotRunnable::NotFound { .. }) => Err(Unmeasured::Absent("no python3 in PATH".into())),
        Err(error) => Err(Unmeasured::Unseen(error.to_string())),
    };
    Rung { about, parts: 1.0, watch_cycle: true, measure: Box::new(measure) }
}

fn of_statement(bench: &Bench<'_>, python: &Path, statement: &str) -> Result<Samples, Unmeasured> {
    let budget = bench.budget_ns.to_string();
    let said = child::run(bench, python, &["-I", "-S", "-c", PROGRAM, statement, &budget])?;
    read(&said)
        .ok_or_else(|| Unmeasured::Unseen("python3 did not answer as CPython 3.7 or later does".into()))
}

/// What the child says: a line of who it is, a line of operations a sample, then a line a sample,
/// its time and that of its baseline.
fn read(said: &str) -> Option<Samples> {
    let mut lines = said.lines();
    let who = lines.next().filter(|who| is_name(who))?;
    let ops: u64 = lines.next()?.parse().ok().filter(|ops| *ops > 0)?;
    let mut samples = Samples { ops_per_sample: ops, ..Samples::default() };
    for line in lines {
        let (ns, less) = line.split_once(' ')?;
        samples.per_op_ns.push(ns.parse::<u64>().ok()? as f64 / ops as f64);
        samples.baseline_ns.push(less.parse::<u64>().ok()? as f64 / ops as f64);
    }
    samples.limits.push(format!("of {who}, the python3 that is first in PATH"));
    (!samples.per_op_ns.is_empty()).then_some(samples)
}

/// `CPython 3.12.1`, and nothing longer or stranger.
fn is_name(who: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || " .-+_".contains(c);
    (1..=40).contains(&who.len()) && who.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::interrupted;
    use crate::machine;
    use std::cell::Cell;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use sys::clock::monotonic_ns;

    fn measured(python: &Path, stop: &dyn Fn() -> bool) -> Result<Samples, Unmeasured> {
        let (machine, asked) = (machine(), LadderRequest::default());
        of_statement(&Bench::new(&machine, &asked, 50_000_000, 0.0, stop), python, "[x]")
    }

    fn script(dir: &tempfile::TempDir, text: &str) -> PathBuf {
        let path = dir.path().join("python3");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_python_says_who_it_is_and_how_long_it_took() {
        let Ok(python) = resolve(OsStr::new("python3")) else { return };
        let samples = measured(&python, &|| false).unwrap();
        assert!(samples.limits[0].contains("CPython 3."), "{:?}", samples.limits);
        assert_eq!(samples.per_op_ns.len(), samples.baseline_ns.len());
        let longer =
            samples.per_op_ns.iter().zip(&samples.baseline_ns).filter(|(ns, less)| ns > less).count();
        assert!(longer * 10 > samples.per_op_ns.len() * 9, "{longer} of {}", samples.per_op_ns.len());
    }

    #[test]
    fn what_is_no_python_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        for text in [
            "#!/bin/sh\nexit 1\n",
            "#!/bin/sh\necho Frob 3; echo 10; echo 100\n",
            "#!/bin/sh\nprintf 'C\\033[2J\\n10\\n1 1\\n'\n",
            "#!/bin/sh\nprintf 'C\\n0\\n1 1\\n'\n",
        ] {
            let python = script(&dir, text);
            assert!(matches!(measured(&python, &|| false), Err(Unmeasured::Unseen(_))), "{text}");
        }
    }

    #[test]
    fn one_that_says_too_much_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let python = script(&dir, "#!/bin/sh\nexec yes\n");
        let Err(Unmeasured::Unseen(why)) = measured(&python, &|| false) else { panic!("believed") };
        assert!(why.contains("more than"), "{why}");
    }

    #[test]
    fn one_that_hangs_is_ended_on_request() {
        let dir = tempfile::tempdir().unwrap();
        // A child of its own, which must go too.
        let python =
            script(&dir, &format!("#!/bin/sh\nsleep 98.7 & echo $! > {}/pid\nwait\n", dir.path().display()));
        let begun = monotonic_ns();
        let pid = Cell::new(None);
        let stop = || {
            pid.set(fs::read_to_string(dir.path().join("pid")).ok().filter(|pid| pid.ends_with('\n')));
            pid.take().is_some_and(|found| {
                pid.set(Some(found));
                true
            })
        };
        assert_eq!(measured(&python, &stop), Err(interrupted()));
        assert!(monotonic_ns() - begun < 30_000_000_000);
        let pid = pid.take().unwrap();
        let state = || fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        // It is dead at once, and gone when its new parent reaps it.
        let dead = || state().is_empty() || state().contains(") Z ") || state().contains(") X ");
        assert!((0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            dead()
        }));
    }
}
