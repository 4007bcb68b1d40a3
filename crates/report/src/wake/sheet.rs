//! A sheet: its cases side by side, as a page and as a picture.

use super::chart::{axis_of, block_ns, spark};
use super::picture::PLAIN;
use super::plots::{PAPER, PlotInfo, Series, draw, head};
use super::table::{missed, shown};
use super::{verdict, words};
use crate::Look;
use crate::axis;
use crate::paint::{GAP, Ink, Line, joined, paragraphs};
use crate::picture::{MARGIN, Picture};
use crate::table::{Table, figure, text};
use crate::units::{count, counted, duration, exact, to_second};
use model::Seen;
use model::wake::sheet::{Case, Sheet};
use model::wake::verdict::Answer;
use model::wake::{LatencyBlock, Wakeups};

/// Columns of the figure behind a sparkline, with a blank before it.
const FIGURE: usize = 8;

/// The page, with a newline after each line; shorter if the file `json` has the rest.
pub fn terminal(sheet: &Sheet, look: Look, json: Option<&str>) -> String {
    let top = sentences(sheet, look).into_iter().flat_map(|line| line.wrap(GAP)).collect();
    let parts = [
        top,
        cases(sheet, look),
        timelines(sheet, look),
        open(sheet, look),
        measured(sheet).flat_map(|(case, wakeups)| rates(case, wakeups, look)).collect(),
        measured(sheet).flat_map(|(case, wakeups)| largest_spike(case, wakeups, look).wrap(GAP)).collect(),
        limits(sheet, look, json),
    ];
    joined(&parts)
}

/// The parts for a document; the first is its head, and a bold line is a heading. Timelines are
/// left to the picture.
pub(crate) fn parts(sheet: &Sheet) -> Vec<Vec<Line>> {
    let look = Look::DOCUMENT;
    let loads = measured(sheet).flat_map(|(case, wakeups)| rates(case, wakeups, look)).collect();
    let spikes = measured(sheet).map(|(case, wakeups)| largest_spike(case, wakeups, look)).collect();
    let mut parts = vec![sentences(sheet, look), [cases(sheet, look), open(sheet, look)].concat()];
    for (heading, lines) in
        [("Loads", loads), ("Spikes", spikes), ("What qualifies it", limits(sheet, look, None))]
    {
        let lines: Vec<Line> = lines.into_iter().filter(|line| !line.is_empty()).collect();
        if !lines.is_empty() {
            parts.push([vec![Line::new(look).add(Ink::Bold, heading)], lines].concat());
        }
    }
    parts
}

/// The sheet as a picture: an SVG document.
pub fn svg(sheet: &Sheet) -> String {
    crate::picture::svg(&picture(sheet))
}

/// The same picture as the bytes of a PNG file.
pub fn png(sheet: &Sheet) -> Vec<u8> {
    crate::picture::png(&picture(sheet))
}

fn measured(sheet: &Sheet) -> impl Iterator<Item = (&Case, &Wakeups)> {
    sheet.cases.iter().zip(&sheet.results)
}

/// The case with the maximum latency.
fn worst(sheet: &Sheet) -> Option<(&Case, &Wakeups)> {
    measured(sheet).max_by_key(|(_, wakeups)| wakeups.all.max_ns.value().copied())
}

/// The result in a sentence, then the host and the settings.
fn sentences(sheet: &Sheet, look: Look) -> Vec<Line> {
    let Some((case, wakeups)) = worst(sheet) else {
        return vec![Line::new(look).add(Ink::Bold, "no case of the sheet was measured")];
    };
    let missed: u64 = sheet.results.iter().filter_map(|wakeups| wakeups.all.missed.value()).sum();
    let cycles: u64 = sheet.results.iter().map(|wakeups| wakeups.all.cycles).sum();
    let line = answers(sheet, Line::new(look));
    let line = match wakeups.all.max_ns.value() {
        Some(ns) => line
            .add(Ink::Bold, "maximum latency ")
            .glued(Ink::Bold, &duration(*ns))
            .add(Ink::Plain, &format!(" in case {}; ", case.name)),
        None => line.add(Ink::Bold, "no wake-up was measured: "),
    };
    let mut line = line
        .glued(Ink::Plain, &counted(cycles, "cycle"))
        .add(Ink::Plain, " in ")
        .glued(Ink::Plain, &counted(sheet.results.len() as u64, "case"));
    if missed > 0 {
        line = line.add(Ink::Plain, ", ").add(Ink::Warn, &format!("{} missed", counted(missed, "period")));
    }
    let host = &wakeups.host;
    let first = sheet.results.first().map_or(String::new(), |wakeups| to_second(&wakeups.started_at));
    let asked = &wakeups.settings.asked;
    let place = format!(
        "{}: Linux {} {}, sheet {}, {} per case, interval {} on {}, started {first}",
        host.name,
        host.kernel,
        host.arch,
        sheet.name,
        exact(sheet.for_ns),
        exact(asked.interval_ns),
        super::table::cpus_named(&asked.cpus),
    );
    vec![line, Line::new(look).add(Ink::Dim, &place)]
}

/// `125 us: fail in 2 of 5; `: the answer to the question that was asked.
fn answers(sheet: &Sheet, line: Line) -> Line {
    let given: Vec<_> = sheet.results.iter().filter_map(|wakeups| wakeups.verdict.value()).collect();
    let Some(deadline) = given.first().map(|verdict| verdict.deadline.deadline_ns) else { return line };
    // The worst there is: one case that fails is a fail.
    let order = [Answer::Fail, Answer::Undecided, Answer::Pass];
    let with = |answer: Answer| given.iter().filter(|verdict| verdict.answer == answer).count();
    let answer = order.into_iter().find(|answer| with(*answer) > 0).unwrap_or(Answer::Undecided);
    let (word, ink) = verdict::word(answer);
    let of = format!(" in {} of {}; ", with(answer), given.len());
    line.glued(Ink::Bold, &exact(deadline)).add(Ink::Bold, ": ").add(ink, word).add(Ink::Plain, &of)
}

/// The table of cases.
fn cases(sheet: &Sheet, look: Look) -> Vec<Line> {
    let columns = vec![
        text("", 8, 0),
        figure("cycles", 2),
        figure("missed", 1),
        figure("p50", 4),
        figure("p99", 5),
        figure("p99.99", 0),
        figure("p99.9999", 6),
        figure("max", 0),
        text("verdict", 9, 0),
        text("load", 8, 3),
    ];
    let mut table = Table::new(look, "case", columns);
    let plain = |text: String| (Ink::Plain, text);
    let max_ns = worst(sheet).and_then(|(_, wakeups)| wakeups.all.max_ns.value().copied());
    for (at, case) in sheet.cases.iter().enumerate() {
        let load = plain(words::loads_short(&case.loads));
        let Some(wakeups) = sheet.results.get(at) else {
            let mut row = vec![plain(case.name.clone())];
            row.extend((1..8).map(|_| plain(String::new())));
            row.extend([(Ink::Dim, "not run".to_owned()), load]);
            table.row(row);
            continue;
        };
        let all = &wakeups.all;
        let worst = if all.max_ns.value().copied() == max_ns { Ink::Bold } else { Ink::Plain };
        let (word, ink) = match &wakeups.verdict {
            Seen::Value(given) => verdict::word(given.answer),
            Seen::Absent => ("", Ink::Plain),
            Seen::Unseen(_) => ("none", Ink::Warn),
        };
        table.row(vec![
            plain(case.name.clone()),
            plain(count(all.cycles)),
            missed(all, look),
            plain(shown(&all.p50_ns, look)),
            plain(shown(&all.p99_ns, look)),
            plain(shown(&all.p9999_ns, look)),
            plain(shown(&all.p999999_ns, look)),
            (worst, shown(&all.max_ns, look)),
            (ink, word.to_owned()),
            load,
        ]);
    }
    table.lines()
}

/// The maxima over time of each case, on one scale.
fn timelines(sheet: &Sheet, look: Look) -> Vec<Line> {
    let blocks: Vec<LatencyBlock> =
        sheet.results.iter().flat_map(|wakeups| &wakeups.all.timeline).copied().collect();
    if sheet.results.iter().all(|wakeups| wakeups.all.timeline.len() < 3) {
        return Vec::new();
    }
    let axis = axis_of(&blocks, None);
    let names = measured(sheet).map(|(case, _)| crate::clean::width(&crate::clean(&case.name, look.unicode)));
    let names = names.max().unwrap_or(0).min(look.columns() / 3);
    let room = look.columns().saturating_sub(2 * GAP + names + FIGURE).max(1);
    let scale = if axis.is_log() { ", logarithmic" } else { "" };
    let long = sheet.results.iter().map(|wakeups| wakeups.took_ns).max().unwrap_or(1).max(1);
    // A round step: a minute where an hour fits.
    let block = sheet.results.iter().map(|wakeups| block_ns(&wakeups.all.timeline)).max().unwrap_or(0);
    let each = axis::round_step(long, room as u64).max(block);
    let columns = long.div_ceil(each) as usize;
    let title = format!(": per {}, on one scale{scale}", exact(each));
    let mut lines =
        vec![Line::new(look).add(Ink::Bold, "maximum latency over time").add(Ink::Dim, &title).cut()];
    for (case, wakeups) in measured(sheet) {
        let spark = spark(&wakeups.all.timeline, each * columns as u64, columns, axis, look);
        let line = Line::new(look).pad_to(GAP).add(Ink::Plain, &case.name).cut_to(GAP + names);
        let line = line.pad_to(2 * GAP + names).add(Ink::Plain, &spark);
        lines.push(
            line.pad_to(2 * GAP + names + columns + 1).add(Ink::Dim, &shown(&wakeups.all.max_ns, look)).cut(),
        );
    }
    lines
}

/// What is missing for a verdict.
fn open(sheet: &Sheet, look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    let missing = sheet.cases.len().saturating_sub(sheet.results.len());
    if missing > 0 {
        let text = format!("{} not run yet", counted(missing as u64, "case"));
        lines.extend(Line::new(look).add(Ink::Warn, &text).wrap(GAP));
    }
    for (case, wakeups) in measured(sheet) {
        if let Seen::Value(given) = &wakeups.verdict
            && let Seen::Value(more) = &given.run_more_ns
        {
            let line = Line::new(look).add(Ink::Plain, &format!("{}: run ", case.name));
            let line = line.glued(Ink::Bold, &duration(*more)).add(Ink::Plain, " more for a verdict");
            lines.extend(line.wrap(GAP));
        }
        if wakeups.interrupted {
            let text = format!("{}: ended early, after {}", case.name, duration(wakeups.took_ns));
            lines.extend(Line::new(look).add(Ink::Warn, &text).wrap(GAP));
        }
    }
    lines
}

/// The rates of a case's loads, their failures, and what they could not do as asked.
fn rates(case: &Case, wakeups: &Wakeups, look: Look) -> Vec<Line> {
    if wakeups.loads.is_empty() {
        return Vec::new();
    }
    let mut line = Line::new(look).add(Ink::Plain, &format!("load of {}: ", case.name));
    for (at, done) in wakeups.loads.iter().enumerate() {
        let lead = if at > 0 { ", " } else { "" };
        line = line.add(Ink::Plain, &format!("{lead}{} ", words::load(&done.load).0));
        line = line.glued(Ink::Plain, &words::rate(done));
    }
    let mismatches: u64 = wakeups.loads.iter().map(|done| done.mismatches_total).sum();
    if mismatches > 0 {
        line = line.add(Ink::Plain, "; ").add(Ink::Warn, &words::mismatches(mismatches));
    }
    let others = wakeups.loads.iter().flat_map(|done| words::not_as_asked(done, look));
    line.wrap(GAP).into_iter().chain(others).collect()
}

/// The main cause of a case's maximum latency.
fn largest_spike(case: &Case, wakeups: &Wakeups, look: Look) -> Line {
    let line = Line::new(look);
    let Some(spike) = wakeups.spikes.value().and_then(|spikes| spikes.first()) else { return line };
    let cause = words::cause_of(spike.cause, spike.who.as_deref());
    let max_ns = wakeups.all.max_ns.value();
    let known = max_ns.is_none_or(|max_ns| duration(*max_ns) == duration(spike.ns));
    let which = if known { "max latency" } else { "largest traced spike" };
    line.add(Ink::Plain, &format!("{}: {which} ", case.name))
        .glued(Ink::Plain, &duration(spike.ns))
        .add(Ink::Plain, ", mainly ")
        .add(Ink::Bold, &cause)
}

/// The caveats of all cases, then those of some, with their names. If the file `json` has the rest,
/// only those of the worst case and the number of others.
fn limits(sheet: &Sheet, look: Look, json: Option<&str>) -> Vec<Line> {
    let Some((worst, _)) = worst(sheet) else { return Vec::new() };
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for (case, wakeups) in measured(sheet) {
        for limit in &wakeups.limits {
            match found.iter_mut().find(|(text, _)| text == limit) {
                Some((_, cases)) => cases.push(&case.name),
                None => found.push((limit, vec![&case.name])),
            }
        }
    }
    let everywhere = |cases: &Vec<&str>| cases.len() == sheet.results.len();
    found.sort_by_key(|(_, cases)| !everywhere(cases));
    let all = found.len();
    if json.is_some() {
        found.retain(|(_, cases)| everywhere(cases) || cases.contains(&worst.name.as_str()));
    }
    let lines = found.iter().flat_map(|(limit, cases)| {
        let lead = Line::new(look).add(Ink::Warn, "! ");
        let of = if everywhere(cases) { String::new() } else { format!("{}: ", cases.join(", ")) };
        paragraphs(lead.add(Ink::Plain, &of), limit, GAP)
    });
    let mut lines: Vec<Line> = lines.collect();
    let rest = all - found.len();
    if let Some(json) = json.filter(|_| rest > 0) {
        let text = format!("{} of other cases in {json}", counted(rest as u64, "caveat"));
        lines.extend(Line::new(look).add(Ink::Dim, &text).wrap(GAP));
    }
    lines
}

fn picture(sheet: &Sheet) -> Picture {
    let mut picture = Picture::new(PAPER);
    let lines: Vec<String> = sentences(sheet, PLAIN).iter().map(Line::render).collect();
    head(&mut picture, &lines);
    add_plots(&mut picture, sheet);
    picture
}

/// The plots alone.
pub(crate) fn plots(sheet: &Sheet) -> Picture {
    let mut picture = Picture::new(PAPER);
    add_plots(&mut picture, sheet);
    picture
}

fn add_plots(picture: &mut Picture, sheet: &Sheet) {
    let series: Vec<Series<'_>> = sheet.cases.iter().zip(&sheet.results).map(line).collect();
    let deadline = sheet.results.first().and_then(|wakeups| wakeups.settings.asked.deadline);
    let info = PlotInfo { cycle: "wake-up", deadline_ns: deadline.map(|deadline| deadline.deadline_ns) };
    draw(picture, &series, &info);
    picture.height += MARGIN;
}

/// The series of a case.
fn line<'a>((case, wakeups): (&Case, &'a Wakeups)) -> Series<'a> {
    let max = wakeups.all.max_ns.value().map_or_else(String::new, |ns| format!(": max {}", duration(*ns)));
    let verdict = match &wakeups.verdict {
        Seen::Value(given) => format!("{}; ", verdict::word(given.answer).0),
        Seen::Absent | Seen::Unseen(_) => String::new(),
    };
    Series {
        name: format!("{}{max}", case.name),
        note: format!("{verdict}{}", words::loads_short(&case.loads)),
        bins: &wakeups.all.histogram,
        blocks: &wakeups.all.timeline,
        took_ns: wakeups.took_ns,
    }
}
