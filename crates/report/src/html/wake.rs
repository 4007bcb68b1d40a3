//! The page of a measurement of wake-up latency.

use super::{blocks, svg};
use crate::wake::{parts, picture};
use model::wake::Wakeups;

/// The measurement.
pub(super) fn article(wakeups: &Wakeups, number: usize) -> String {
    let parts = parts(wakeups);
    let plots = match wakeups.all.cycles {
        0 => String::new(),
        _ => svg::picture(
            &picture::plots(wakeups),
            "histograms of latency, latency by percentile, and the maximum over time, one line for each CPU; \
             their figures are in the tables",
        ),
    };
    let sections = [
        ("Verdict", blocks::lines(&parts.verdict)),
        ("Latency", format!("{plots}{}", blocks::lines(&parts.table))),
        ("Spikes", blocks::lines(&parts.spikes)),
        ("Settings and loads", blocks::lines(&parts.settings)),
        ("What qualifies it", blocks::lines(&parts.limits)),
    ];
    blocks::titled(number, &parts.head, &blocks::sections(&sections))
}
