//! The causes that a recording shows as text, one fact per line, to be read as a diff: exact
//! nanoseconds, nothing rounded.

use model::finding::{Place, SignedWaits, Signs};
use model::{Finding, Run, Seen};
use std::fmt::Write;

/// All findings; none where there are none.
pub(crate) fn text(run: &Run, findings: &[Finding]) -> Option<String> {
    let mut text = String::new();
    findings.iter().for_each(|finding| one(&mut text, run, finding));
    (!text.is_empty()).then_some(text)
}

fn one(text: &mut String, run: &Run, finding: &Finding) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{} ({})", finding.cause.id, finding.cause.title);
    let _ = match finding.place {
        Place::Wait(row) => {
            let wait = &run.waits[row];
            writeln!(text, "  at wait {row}: {} on {}", wait.reason.name(), wait.on)
        }
        Place::Connection(row) => {
            let connections = run.connections.value().map_or(&[][..], Vec::as_slice);
            let remote = connections.get(row).map_or("", |connection| &connection.remote);
            writeln!(text, "  at connection {row}: {remote}")
        }
    };
    let _ = writeln!(text, "  share {}..{}", finding.share_ns.lo, finding.share_ns.hi);
    let _ = match &finding.saving_ns {
        Seen::Value(saving) => writeln!(text, "  saving {}..{}", saving.lo, saving.hi),
        Seen::Absent => writeln!(text, "  saving none"),
        Seen::Unseen(why) => writeln!(text, "  saving unseen: {why}"),
    };
    match finding.evidence {
        Signs::Waits(of) => waits(text, of),
        Signs::WaitsAfterWrites { waits: of, write_bytes_mean } => {
            waits(text, of);
            let _ = writeln!(text, "  writes of {write_bytes_mean} bytes on average");
        }
    }
    let _ = writeln!(text, "  action {:?}", finding.action);
    let _ = writeln!(text, "  assumes {:?}", finding.assumes);
    let _ = writeln!(text, "  verify {:?}", finding.verify);
}

fn waits(text: &mut String, of: SignedWaits) {
    let _ = writeln!(text, "  waits {} of {}, total {}", of.waits, of.of_waits, of.total_ns);
}
