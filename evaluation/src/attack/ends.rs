//! Each verb ended at random moments, by SIGKILL and by the signals that end it in order; what was
//! left, what hung, and which programs came to harm.
//!
//! Moments are uniform over the time that the verb takes undisturbed.

use super::place::{Workplace, unheld_programs};
use super::verbs::{Fate, Verb};
use anyhow::{Result, ensure};
use rustix::process::Signal;
use stats::Random;
use std::time::{Duration, Instant};

/// Signals of each kind.
const SIGNALS: usize = 6;
/// What is sent: all but SIGUSR1, which is the program's affair, end dwell, in order or at once;
/// and how soon they have to.
const SENT: [Signal; 7] =
    [Signal::INT, Signal::TERM, Signal::QUIT, Signal::HUP, Signal::USR1, Signal::ALARM, Signal::XCPU];
const SOON: Duration = Duration::from_secs(1);
/// After this time a process hangs.
const HANGS: Duration = Duration::from_secs(15);

/// What came of the attacks on one verb.
#[derive(Default)]
pub(super) struct Row {
    /// The moments of SIGKILL.
    moments: Vec<Duration>,
    /// Processes and control groups that were there after dwell's end.
    processes: usize,
    groups: usize,
    /// BPF programs that no process holds, after all; none if that cannot be seen.
    programs: Option<usize>,
    /// Files after a SIGKILL, and after the next undisturbed start.
    files: usize,
    unswept: Vec<String>,
    harmed: usize,
    /// Programs that dwell said would end with it.
    foretold: usize,
    signals: usize,
    /// Signals after which dwell took longer than [`SOON`], and the longest time.
    late: usize,
    slowest: Duration,
    hung: usize,
    /// Starts that said of a panic.
    panics: usize,
}

/// Attacks a verb.
///
/// # Errors
/// When it does not run undisturbed.
pub(super) fn attack(place: &Workplace, verb: &Verb, kills: usize, random: &mut Random) -> Result<Row> {
    let before = (place.files(), unheld_programs());
    let mut row = Row::default();
    let mut target = verb.target(place)?;
    let begun = Instant::now();
    let status = place.start(verb, target.as_ref())?.end(4 * HANGS);
    ensure!(status.is_some_and(|status| status.success()), "{}: {}", verb.name, place.said());
    let length = begun.elapsed();
    for _ in 0..kills {
        place.clear_program();
        let dwell = place.start(verb, target.as_ref())?;
        let moment = length.mul_f64(random.uniform());
        row.moments.push(moment);
        std::thread::sleep(moment);
        dwell.signal(Signal::KILL);
        let killed_running = dwell.end(HANGS).is_some_and(|status| !status.success());
        let left = place.wait_for_orphans(target.as_ref(), HANGS);
        row.processes += left;
        row.groups += place.groups().len();
        row.files += usize::from(place.files() != before.0);
        row.panics += usize::from(place.said().contains("panicked"));
        if killed_running && place.program_is_unfinished() {
            match verb.fate {
                Fate::GoesOn => row.harmed += 1,
                Fate::EndsWithDwell => row.foretold += 1,
                Fate::None => {}
            }
        }
        if let Some(target) = &mut target {
            row.harmed += usize::from(!target.goes_on());
        }
    }
    for signal in SENT {
        for _ in 0..SIGNALS.min(kills) {
            place.clear_program();
            let dwell = place.start(verb, target.as_ref())?;
            std::thread::sleep(length.mul_f64(random.uniform()));
            let sent = Instant::now();
            dwell.signal(signal);
            match dwell.end(HANGS) {
                None => row.hung += 1,
                Some(_) => {
                    if signal != Signal::USR1 {
                        row.late += usize::from(sent.elapsed() > SOON);
                        row.slowest = row.slowest.max(sent.elapsed());
                    }
                }
            }
            row.signals += 1;
            row.processes += place.wait_for_orphans(target.as_ref(), HANGS);
            row.groups += place.groups().len();
            row.panics += usize::from(place.said().contains("panicked"));
            if let Some(target) = &mut target {
                row.harmed += usize::from(!target.goes_on());
            }
        }
    }
    place.clear_program();
    place.start(verb, target.as_ref())?.end(HANGS);
    place.clear_program();
    row.unswept = place.files().difference(&before.0).cloned().collect();
    row.programs = before.1.and_then(|before| {
        let begun = Instant::now();
        // The kernel frees them some time after their last holder.
        loop {
            let left = unheld_programs()?.difference(&before).count();
            if left == 0 || begun.elapsed() > HANGS {
                return Some(left);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    Ok(row)
}

pub(super) const HEADER: [&str; 13] = [
    "verb",
    "kills",
    "processes left",
    "groups",
    "BPF programs",
    "files",
    "not swept",
    "harmed",
    "foretold",
    "signals",
    "late",
    "slowest, ms",
    "hung, panics",
];

impl Row {
    /// What did not hold.
    pub(super) fn faults(&self, name: &str) -> Vec<String> {
        let counts = [
            (self.processes, "processes left"),
            (self.groups, "control groups left"),
            (self.programs.unwrap_or(0), "BPF programs left"),
            (self.unswept.len(), "files that no start swept"),
            (self.harmed, "programs harmed"),
            (self.late, "late ends"),
            (self.hung, "hung"),
            (self.panics, "panics"),
        ];
        let wrong = counts.into_iter().filter(|(count, _)| *count > 0);
        let mut faults: Vec<_> = wrong.map(|(count, what)| format!("{name}: {count} {what}")).collect();
        if !self.unswept.is_empty() {
            faults.push(format!("{name}: {}", self.unswept.join(" ")));
        }
        faults
    }

    /// As [`HEADER`].
    pub(super) fn cells(&self, name: &str) -> Vec<String> {
        let programs = self.programs.map_or_else(|| "unseen".to_owned(), |count| count.to_string());
        [
            name.to_owned(),
            self.moments.len().to_string(),
            self.processes.to_string(),
            self.groups.to_string(),
            programs,
            self.files.to_string(),
            self.unswept.len().to_string(),
            self.harmed.to_string(),
            self.foretold.to_string(),
            self.signals.to_string(),
            self.late.to_string(),
            self.slowest.as_millis().to_string(),
            format!("{}, {}", self.hung, self.panics),
        ]
        .to_vec()
    }

    /// The moments in order, as numbers of ms.
    pub(super) fn drawn(&self, name: &str) -> String {
        let mut moments: Vec<u128> = self.moments.iter().map(Duration::as_millis).collect();
        moments.sort_unstable();
        let moments: Vec<String> = moments.iter().map(u128::to_string).collect();
        format!("{name}: {}", moments.join(" "))
    }
}
