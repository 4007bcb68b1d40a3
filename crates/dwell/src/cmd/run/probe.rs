//! `dwell run --probe`: after the run, the fix of a finding is imposed in further runs of the same
//! command.
//!
//! Which finding has which probe is up to `analyse::judge::probes`, how it is imposed to `probes`,
//! what pairs of runs say to `analyse::compare`.

use crate::cli::ProbeArg;
use crate::exit;
use crate::out::RunOutput;
use crate::output;
use crate::progress::{self, ProgressLine};
use analyse::judge::probes as judged;
use anyhow::bail;
use model::recording::Ending;
use model::{Probe, Probed, Seen};
use probes::{End, Imposing, Input, Repeats, Subject};
use std::time::Instant;
use sys::signals::Signals;
use sys::spawn::Command;

/// A probe that was asked for, and what the command can read again.
pub(super) struct Asked {
    /// By its name, or any that needs none.
    probe: Option<Probe>,
    input: Input,
}

/// The command that was run, and how.
pub(super) struct Repeated<'a> {
    pub(super) command: &'a Command,
    pub(super) ending: Ending,
    /// A signal to dwell asked for its end, whatever it made of that.
    pub(super) asked_to_end: bool,
    pub(super) quiet: bool,
}

impl Asked {
    /// Before the first run, which may read what no later one could.
    pub(super) fn of(asked: Option<ProbeArg>) -> anyhow::Result<Option<Self>> {
        let Some(ProbeArg(probe)) = asked else { return Ok(None) };
        match Input::of_this_process() {
            Ok(input) => Ok(Some(Self { probe, input })),
            Err(what) => bail!(
                "--probe runs the command again, and its standard input is {what}: what the first run reads is \
                 gone then\ntry: < FILE, or < /dev/null"
            ),
        }
    }

    /// Probes a finding, and puts what that gave into the result. What cannot be done is reported.
    pub(super) fn probe(self, result: &mut RunOutput, repeated: &Repeated<'_>, signals: &mut Signals) {
        if let Ending::Signal(signal) = repeated.ending {
            output::complain(&format!("no probe: signal {signal} ended the program"));
            return;
        }
        if repeated.asked_to_end {
            output::complain("no probe: a signal asked the program to end, and it would be run again");
            return;
        }
        let model::RunResult { run, diagnosis, .. } = &result.result;
        let Some((at, probe)) = judged::choose(run, diagnosis, self.probe) else {
            let found: Vec<_> = diagnosis
                .findings
                .iter()
                .map(|finding| (finding.cause.clone(), judged::of(finding, run)))
                .collect();
            let causes = self.probe.map(|probe| (probe, judged::causes(probe)));
            let causes = causes.as_ref().map(|(probe, causes)| (*probe, causes.as_slice()));
            output::complain(&report::probe::none(causes, &found));
            let of_flushes = self.probe.is_none_or(|probe| probe == Probe::SkipFlushes);
            let durable = diagnosis.findings.iter().position(|finding| judged::writes_durably(finding, run));
            if let Some(at) = durable.filter(|_| of_flushes) {
                result.set_probed(at, Seen::unseen(report::probe::OF_DURABLE_WRITES));
            }
            return;
        };
        let finding = &diagnosis.findings[at];
        let checked = imposing(probe, judged::files(run));
        let probed = match checked.and_then(|imposing| imposing.check().map(|()| imposing)) {
            Err(why) => Seen::Unseen(format!("{why}{}", remedy(probe))),
            Ok(imposing) => {
                let risky = report::probe::risk(probe).is_some();
                for line in report::probe::announcement(&finding.cause, probe) {
                    if !repeated.quiet || risky {
                        output::complain(&line);
                    }
                }
                let subject =
                    Subject { command: repeated.command, input: self.input, ending: &repeated.ending };
                let repeats = repeat(&subject, &imposing, repeated.quiet, signals);
                let walls = &repeats.walls_ns;
                let probed = analyse::compare::probed(probe, walls, run.wall_ns, &finding.saving);
                outcome(probed, &repeats.end)
            }
        };
        // Without a page nothing else would say so.
        if let (Seen::Unseen(why), true) = (&probed, repeated.quiet) {
            output::complain(&output::clean_lines(&format!("the probe {} gave nothing: {why}", probe.id())));
        }
        result.set_probed(at, probed);
    }
}

/// What is to be done for it here.
fn imposing(probe: Probe, files: Vec<String>) -> Result<Imposing, String> {
    Ok(match probe {
        Probe::SkipFlushes => Imposing::SkipFlushes,
        Probe::NoDelay => Imposing::NoDelay,
        Probe::WarmFiles => Imposing::WarmFiles(files.into_iter().map(Into::into).collect()),
        Probe::LiftQuota => Imposing::LiftQuota(observe::outermost_quota()?),
        Probe::RaisePriority => Imposing::RaisePriority,
        Probe::KeepMemory => Imposing::KeepMemory,
    })
}

/// What would make it possible, where privileges do.
fn remedy(probe: Probe) -> &'static str {
    match probe {
        Probe::LiftQuota | Probe::RaisePriority => " (it needs root: sudo dwell run --user \"$USER\" …)",
        _ => "",
    }
}

fn repeat(subject: &Subject<'_>, imposing: &Imposing, quiet: bool, signals: &mut Signals) -> Repeats {
    let line = ProgressLine::new(quiet);
    let begun = Instant::now();
    probes::pairs(subject, imposing, signals, &mut |done, planned| {
        line.put(|| match planned {
            Some(planned) => {
                let left = progress::left(begun.elapsed(), done as f64 / planned as f64);
                format!("pair {} of {planned}{left}; Ctrl-C to stop", done + 1)
            }
            None => "the first pair of runs; Ctrl-C to stop".to_owned(),
        });
    })
}

/// What the pairs gave. Runs that were not alike show nothing, however many were before.
fn outcome(probed: Option<Probed>, end: &End) -> Seen<Probed> {
    match (probed, end) {
        (Some(probed), End::Complete | End::Signal) => Seen::Value(probed),
        (_, End::EndedOtherwise(ending, on)) => {
            let with = if *on { "with" } else { "without" };
            let status = exit::of_program(*ending);
            Seen::Unseen(format!("a run {with} it ended with status {status}, otherwise than the first run"))
        }
        (_, End::Failed(why)) => Seen::Unseen(why.clone()),
        (None, End::Signal) => Seen::unseen("a signal ended it before the end of the first pair"),
        (None, End::Complete) => Seen::unseen("there is no pair"),
    }
}
