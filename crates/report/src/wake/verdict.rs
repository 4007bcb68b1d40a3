//! The verdict with its grounds: the bound on the rate of late wake-ups, and the estimate of a
//! longer run's maximum latency.

use crate::Look;
use crate::paint::{GAP, Ink, Line, paragraphs};
use crate::units::{duration, duration_range, exact};
use model::Seen;
use model::wake::Wakeups;
use model::wake::verdict::{Answer, Verdict};

/// A verdict's word and its ink.
pub(crate) fn word(answer: Answer) -> (&'static str, Ink) {
    match answer {
        Answer::Pass => ("pass", Ink::Bold),
        Answer::Fail => ("fail", Ink::Warn),
        Answer::Undecided => ("undecided", Ink::Warn),
    }
}

pub(crate) fn lines(wakeups: &Wakeups, look: Look) -> Vec<Line> {
    let verdict = match &wakeups.verdict {
        Seen::Value(verdict) => verdict,
        Seen::Absent => return Vec::new(),
        Seen::Unseen(why) => {
            let lead = Line::new(look).add(Ink::Bold, "no verdict").add(Ink::Plain, ": ");
            return paragraphs(lead, why, GAP);
        }
    };
    let (word, ink) = word(verdict.answer);
    let line = Line::new(look).add(ink, word).add(Ink::Plain, ": ").add(Ink::Plain, &verdict.why);
    let mut lines = line.wrap(GAP);
    lines.extend(bound(verdict, look).wrap(GAP));
    lines.extend(extreme(verdict, look));
    if let Seen::Value(more) = &verdict.run_more_ns {
        let line = Line::new(look).add(Ink::Plain, "run ").glued(Ink::Bold, &duration(*more));
        lines.extend(line.add(Ink::Plain, " more for a verdict").wrap(GAP));
    }
    lines
}

/// The bound on the rate of late wake-ups. Their number is in the sentence before.
fn bound(verdict: &Verdict, look: Look) -> Line {
    Line::new(look)
        .add(Ink::Plain, "with ")
        .glued(Ink::Plain, &percent(verdict.deadline.confidence))
        .add(Ink::Plain, " confidence at most ")
        .glued(Ink::Bold, &rate(verdict.exceedance_bound))
        .add(Ink::Plain, " of wake-ups exceed ")
        .glued(Ink::Plain, &exact(verdict.limit_ns))
        .add(Ink::Plain, ": one in ")
        .glued(Ink::Plain, &duration(verdict.one_in_ns))
        .add(Ink::Plain, " per CPU")
}

/// A confidence: `95 %`, `99.9 %`.
fn percent(part: f64) -> String {
    let text = format!("{:.4}", part * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A fraction, mostly small: `7.5e-8`, `1.3 %`.
fn rate(part: f64) -> String {
    if part >= 0.01 { format!("{:.1} %", part * 100.0) } else { format!("{part:.1e}") }
}

fn extreme(verdict: &Verdict, look: Look) -> Vec<Line> {
    match &verdict.extreme {
        Seen::Absent => Vec::new(),
        Seen::Unseen(why) => {
            let lead = Line::new(look).add(Ink::Dim, "no estimate of the maximum of a longer run: ");
            paragraphs(lead, why, GAP)
        }
        Seen::Value(extreme) => {
            let line = Line::new(look)
                .add(Ink::Plain, "the maximum latency of ")
                .glued(Ink::Plain, &duration(extreme.for_ns))
                .add(Ink::Plain, " is estimated at ")
                .glued(Ink::Bold, &duration(extreme.max_ns));
            let line = line.add(Ink::Dim, " (");
            let line = match extreme.hi_ns {
                Some(hi_ns) => line.glued(Ink::Dim, &duration_range(extreme.lo_ns, hi_ns, look.dash())),
                None => line
                    .glued(Ink::Dim, &duration(extreme.lo_ns))
                    .add(Ink::Dim, " or more: the data give no upper bound"),
            };
            line.add(Ink::Dim, ")").wrap(GAP)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_keeps_its_nines_and_small_rates_their_power() {
        assert_eq!([0.95, 0.9, 0.999, 0.99999].map(percent), ["95 %", "90 %", "99.9 %", "99.999 %"]);
        assert_eq!([3e-8, 0.0097, 0.013].map(rate), ["3.0e-8", "9.7e-3", "1.3 %"]);
    }
}
