//! The causes that were found, with what can be done about them: those that no table names beside
//! its rows.

use crate::Look;
use crate::clean::clean;
use crate::paint::{Ink, Line};
use crate::units::{bytes, count, counted, duration, share_range};
use model::finding::{Action, Place, SignedWaits, Signs};
use model::{Diagnosis, Finding, Run};

/// A sentence for each. A finding without an action is in its table already, and one of a
/// connection stands below theirs.
pub(super) fn lines(run: &Run, diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    let said = diagnosis.findings.iter().filter(|finding| finding.action.is_some());
    said.flat_map(|finding| match finding.place {
        Place::Connection(_) => Vec::new(),
        Place::Wait(at) => run
            .waits
            .get(at)
            .map(|wait| {
                let call = wait.call.syscall().map(|call| format!(" in {call}")).unwrap_or_default();
                sentence(finding, &call, run, look)
            })
            .unwrap_or_default(),
    })
    .collect()
}

fn sentence(finding: &Finding, place: &str, run: &Run, look: Look) -> Vec<Line> {
    let share = share_range(finding.share_ns.lo, finding.share_ns.hi, run.whole_ns(), look.dash());
    let text = format!("{place}: {}, {share} of the path{}", signs(&finding.evidence), advice(finding));
    let line = Line::new(look).add(Ink::Bold, &format!("likely {}", finding.cause.title));
    line.add(Ink::Plain, &clean(&text, look.unicode)).wrap(2)
}

/// `20 of 21 waits, 820 ms in total`: what says that a cause is there.
pub(super) fn signs(signs: &Signs) -> String {
    let of = |waits: &SignedWaits| format!("{} of {}", count(waits.waits), counted(waits.of_waits, "wait"));
    match signs {
        Signs::Waits(waits) if waits.waits == waits.of_waits => {
            format!("{}, {} in total", counted(waits.waits, "wait"), duration(waits.total_ns))
        }
        Signs::Waits(waits) => format!("{}, {} in total", of(waits), duration(waits.total_ns)),
        Signs::WaitsAfterWrites { waits, write_bytes_mean } => format!(
            "{} after back-to-back writes ({} each) lasted about {}, {} in total",
            of(waits),
            bytes(*write_bytes_mean),
            duration(waits.total_ns / waits.waits.max(1)),
            duration(waits.total_ns)
        ),
    }
}

/// `; try TCP_NODELAY`: what can be done about it.
pub(super) fn advice(finding: &Finding) -> String {
    match finding.action {
        Some(Action::Use(names)) => format!("; try {}", names.join(" or ")),
        None => String::new(),
    }
}
