//! The causes that a recording shows as text, one fact per line, to be read as a diff: exact
//! nanoseconds, nothing rounded.

use model::run::{FindingRow, RuledOutRow};
use model::{FindingsInWords, Seen};
use std::fmt::Write;

/// All that was looked for.
pub(crate) fn text(words: &FindingsInWords) -> String {
    let mut text = String::new();
    words.findings.iter().for_each(|finding| one(&mut text, finding));
    rest(&mut text, "ruled out", &words.ruled_out);
    rest(&mut text, "not looked for", &words.not_looked_for);
    text
}

// Writing to a string cannot fail.
fn one(text: &mut String, finding: &FindingRow) {
    let _ = writeln!(text, "{}: {}", finding.cause, finding.place);
    if let Some(to) = &finding.points_to {
        let _ = writeln!(text, "  at {} {}", to.table, to.row.map(|row| row.to_string()).unwrap_or_default());
    }
    let _ = writeln!(text, "  share {:.4}..{:.4}", finding.share.lo, finding.share.hi);
    let _ = match &finding.saving_ns {
        Seen::Value(ns) => {
            writeln!(text, "  saving {}..{} of {}, {}", ns.lo, ns.hi, finding.saved, finding.known)
        }
        Seen::Absent => writeln!(text, "  saving none"),
        Seen::Unseen(why) => writeln!(text, "  saving unseen: {why}"),
    };
    if let Some(shared) = finding.shared {
        let _ = writeln!(text, "  shared {} or more with finding {}", shared.ns, shared.finding);
    }
    let _ = writeln!(text, "  action {}", finding.action);
    let rows = [("seen", &finding.evidence), ("assumes", &finding.assumptions), ("verify", &finding.verify)];
    for (what, rows) in rows.into_iter().chain([("explains", &finding.explains)]) {
        for row in rows {
            let _ = writeln!(text, "  {what} {row}");
        }
    }
}

fn rest(text: &mut String, what: &str, rows: &[RuledOutRow]) {
    for row in rows {
        let _ = writeln!(text, "{what} {}: {}", row.cause, row.why);
    }
}
