//! The page of a measurement of wake-up latency.

use super::{blocks, svg};
use crate::wake::{parts, picture};
use model::wake::Wakeups;

/// The measurement.
pub(super) fn article(wakeups: &Wakeups, number: usize) -> String {
    let parts = parts(wakeups);
    let mut head = parts.head.iter();
    let mut html = format!("<article data-result=\"{number}\">\n<header>\n");
    if let Some(first) = head.next() {
        html += &format!("<h1>{}</h1>\n", blocks::line(first));
    }
    html.extend(head.map(|line| format!("<p class=\"lead\">{}</p>\n", blocks::line(line))));
    html += "</header>\n";
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
    for (title, body) in sections.iter().filter(|(_, body)| !body.is_empty()) {
        html += &format!("<section>\n<h2>{title}</h2>\n{body}</section>\n");
    }
    html + "</article>\n"
}
