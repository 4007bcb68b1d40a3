//! The picture of a result: each plot has a line for each CPU.

use super::plots::{self, PAPER, PlotInfo, Series, draw, head as write_head};
use super::{head, words};
use crate::Look;
use crate::picture::{MARGIN, Picture};
use crate::units::{count, counted, duration};
use model::wake::{Wakes, Wakeups};

/// Text of pictures is ASCII.
pub(crate) const PLAIN: Look = Look { width: 118, colour: false, unicode: false, height: Look::HEIGHT };

pub(crate) fn of(wakeups: &Wakeups) -> Picture {
    let mut picture = Picture::new(PAPER);
    let mut lines: Vec<String> =
        head::sentences(wakeups, PLAIN).iter().map(crate::paint::Line::render).collect();
    lines.push(format!("load: {}", words::loads_short(&wakeups.settings.asked.loads)));
    write_head(&mut picture, &lines);
    draw_all(&mut picture, wakeups);
    plots::caveats(&mut picture, &wakeups.limits);
    picture.height += MARGIN;
    picture
}

/// The plots alone.
pub(crate) fn plots(wakeups: &Wakeups) -> Picture {
    let mut picture = Picture::new(PAPER);
    draw_all(&mut picture, wakeups);
    picture.height += MARGIN;
    picture
}

fn draw_all(picture: &mut Picture, wakeups: &Wakeups) {
    let series: Vec<Series<'_>> = wakeups.threads.iter().map(|wakes| series(wakes, wakeups)).collect();
    let info = PlotInfo {
        cycle: words::cycles(wakeups.settings.asked.mode),
        deadline_ns: wakeups.settings.asked.deadline.map(|deadline| deadline.deadline_ns),
    };
    draw(picture, &series, &info);
}

fn series<'a>(wakes: &'a Wakes, wakeups: &Wakeups) -> Series<'a> {
    let cpu = wakes.cpu.map_or_else(|| "all".to_owned(), |cpu| format!("cpu {cpu}"));
    let max = wakes.max_ns.value().map_or_else(String::new, |ns| format!(": max {}", duration(*ns)));
    let missed = match wakes.missed.value() {
        None | Some(0) => String::new(),
        Some(missed) => format!(", {} missed", count(*missed)),
    };
    Series {
        name: format!("{cpu}{max}"),
        note: format!("{}{missed}", counted(wakes.cycles, "cycle")),
        bins: &wakes.histogram,
        blocks: &wakes.timeline,
        took_ns: wakeups.took_ns,
    }
}
