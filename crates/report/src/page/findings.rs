//! What to change: the causes that were found, below the headline; all of them, with what was ruled
//! out, on request.

use crate::Look;
use crate::findings::{text, why_not};
use crate::paint::{Ink, Line, joined};
use crate::probe;
use crate::units::{duration, duration_range, share_range};
use model::finding::{BaseRate, Learnt, SavedTime, Saving, Shared};
use model::run::Class;
use model::{Diagnosis, Finding, Ns, Run, Seen};

/// On the first screen.
const FIRST: usize = 3;

/// The cause that a program with much code of its own may have: why nothing can be said of it
/// stands on the page.
const OF_CODE: &str = "hot-code";

/// Columns before a sentence.
const INDENT: usize = 4;

/// The first findings in sentences, or that nothing stands out.
pub(super) fn lines(run: &Run, diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    if diagnosis.findings.is_empty() {
        return nothing(run, diagnosis, look);
    }
    let mut lines = title(diagnosis, look);
    for (at, finding) in diagnosis.findings.iter().take(FIRST).enumerate() {
        lines.extend(one(at, finding, run, diagnosis, look));
        lines.extend(probed(at, diagnosis, look));
    }
    let more = diagnosis.findings.len().saturating_sub(FIRST);
    if more > 0 {
        let text = format!("  {more} more with --causes");
        lines.push(Line::new(look).add(Ink::Dim, &text));
    }
    lines
}

/// The first findings for a page that fits a screen: `most` of them, and of `changes` what to do.
pub(super) fn short(run: &Run, diagnosis: &Diagnosis, look: Look, most: usize, changes: usize) -> Vec<Line> {
    if diagnosis.findings.is_empty() {
        return nothing(run, diagnosis, look);
    }
    let mut lines = title(diagnosis, look);
    for (at, finding) in diagnosis.findings.iter().take(most).enumerate() {
        let line = Line::new(look).add(Ink::Plain, &format!(" {}. ", at + 1));
        let line = line.add(Ink::Bold, &text(&finding.what, look));
        let line = match at < changes {
            true => line.add(Ink::Plain, ": ").add(Ink::Plain, &text(&finding.change, look)),
            false => line,
        };
        lines.extend(cut(line.wrap(INDENT), look));
        let line = Line::new(look).pad_to(INDENT).add(Ink::Plain, &saves(at, finding, run, diagnosis, look));
        let more = format!("dwell explain {}", finding.cause.id);
        lines.extend(line.add(Ink::Plain, "   ").glued(Ink::Dim, &more).wrap(INDENT));
        lines.extend(probed(at, diagnosis, look));
    }
    let more = diagnosis.findings.len().saturating_sub(most);
    if more > 0 {
        lines.push(Line::new(look).add(Ink::Dim, &format!("  {more} more with --causes")));
    }
    lines
}

/// `what to change`, and whether the order of the first two is known.
fn title(diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    let line = Line::new(look).add(Ink::Bold, "what to change");
    let either = ": either 1 or 2; too few programs were measured to tell which saves more";
    let line = if diagnosis.either { line.add(Ink::Plain, either) } else { line };
    line.wrap(INDENT)
}

/// A finding that names much is cut: `--causes` has all of it.
fn cut(mut lines: Vec<Line>, look: Look) -> Vec<Line> {
    if lines.len() > SENTENCE_LINES {
        lines.truncate(SENTENCE_LINES);
        if let Some(last) = lines.pop() {
            lines.push(last.cut_to(look.columns() - 2).add(Ink::Dim, look.rest()));
        }
    }
    lines
}

/// Lines of a finding and what to change on a page that fits a screen.
const SENTENCE_LINES: usize = 4;

/// Where causes were looked for and none is there. An idle program has nothing to change.
pub(super) fn nothing(run: &Run, diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    if diagnosis.ruled_out.is_empty() || run.bound.class == Class::Idle {
        return Vec::new();
    }
    let looked = diagnosis.ruled_out.len();
    let of = looked + diagnosis.unavailable.len();
    let text = if looked == of {
        format!(" dwell looked for {of} causes and found none worth a change (--causes)")
    } else {
        let text = format!(
            " dwell looked for {looked} causes and found none worth a change; it could not look for {} (--causes)",
            of - looked
        );
        let of_code = diagnosis.unavailable.iter().find(|(cause, _)| cause.id == OF_CODE);
        match of_code.filter(|_| run.bound.class == Class::Cpu) {
            Some((cause, why)) => format!("{text}, including {}: {why}", cause.id),
            None => text,
        }
    };
    let of_requests = run.tables.requests.value().is_some_and(|all| !all.findings.is_empty());
    let label = if of_requests { "in the time of threads:" } else { "no known cause:" };
    let rate = diagnosis.base_rate.map(|rate| base_rate(rate, run, look)).unwrap_or_default();
    Line::new(look).add(Ink::Bold, label).add(Ink::Plain, &text).add(Ink::Plain, &rate).wrap(2)
}

/// What that says of a program, by what became of others. It is no finding of this one.
fn base_rate(rate: BaseRate, run: &Run, look: Look) -> String {
    let BaseRate { ns, families, healthy, .. } = rate;
    let kinds = if families + healthy == 1 { "kind" } else { "kinds" };
    format!(
        ". Of {} {kinds} of measured programs of which it said so, {healthy} had nothing to change; what helped \
         such programs saved {} of the time",
        families + healthy,
        share_range(ns.lo, ns.hi, run.whole_ns(), look.dash())
    )
}

/// ` 1. fdatasync of /var/db takes 3.1 s …: sync once for many records` and what that saves.
fn one(at: usize, finding: &Finding, run: &Run, diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    let line = Line::new(look).add(Ink::Plain, &format!(" {}. ", at + 1));
    let line = line.add(Ink::Bold, &text(&finding.what, look)).add(Ink::Plain, ": ");
    let mut lines = line.add(Ink::Plain, &text(&finding.change, look)).wrap(INDENT);
    let line = Line::new(look).pad_to(INDENT).add(Ink::Plain, &saves(at, finding, run, diagnosis, look));
    let line = line.add(Ink::Dim, &format!("   {}", finding.cause.id));
    let explains: Vec<&str> = finding.explains.iter().map(|cause| &*cause.id).collect();
    let line = match &explains[..] {
        [] => line,
        ids => line.add(Ink::Dim, &format!(", which explains {}", ids.join(", "))),
    };
    lines.extend(line.wrap(INDENT));
    lines
}

/// `saves about 3.0 s of 4.0 s (70-77 %, as measured on 12 kinds of programs)`; where no measured
/// changes say so, `saves 2.8-3.1 s of 4.0 s (70-77 %, counted)`.
fn saves(at: usize, finding: &Finding, run: &Run, diagnosis: &Diagnosis, look: Look) -> String {
    let whole_ns = run.whole_ns();
    let of = |saving: &Saving| match saving.of {
        SavedTime::Wall => String::new(),
        SavedTime::Cpu => " of CPU time".to_owned(),
        SavedTime::Waiting => " of waiting".to_owned(),
    };
    match &finding.saving {
        Seen::Value(saving) => {
            let (lo, hi) = (saving.ns.lo, saving.ns.hi);
            let ns =
                if lo == 0 { format!("up to {}", duration(hi)) } else { duration_range(lo, hi, look.dash()) };
            if saving.of == SavedTime::Cpu && run.window.is_none() {
                return format!("saves {ns} of CPU time and no wall-clock time ({})", saving.known.id());
            }
            let share = share_range(lo, hi, whole_ns, look.dash());
            let whole = duration(whole_ns);
            let of_what = match saving.learnt {
                Some(learnt) => {
                    format!("about {} of {whole} ({share}, {})", duration(learnt.expected_ns), by(learnt))
                }
                // Of a window the whole is the time of all threads, of which that is a part.
                None if run.window.is_some() => {
                    format!("{ns}{} ({share} of the threads' {whole}, {})", of(saving), saving.known.id())
                }
                None => format!("{ns} of {whole}{} ({share}, {})", of(saving), saving.known.id()),
            };
            let tested = diagnosis.probed.as_ref().is_some_and(|(of, _)| *of == at);
            if says_little(saving, whole_ns) && !tested {
                let then =
                    if run.window.is_none() { ": measure both versions with dwell compare" } else { "" };
                return format!("saves {of_what}; this run cannot tell how much{then}{}", shared(saving));
            }
            format!("saves {of_what}{}", shared(saving))
        }
        Seen::Absent => "saves nothing by itself".to_owned(),
        Seen::Unseen(why) => format!("the saving is not known: {why}"),
    }
}

/// What the interval was learnt from.
fn by(learnt: Learnt) -> String {
    match learnt.families {
        0 => "as measured on other causes".to_owned(),
        families => format!("as measured on {families} kinds of programs"),
    }
}

/// Whether a saving may as well be nothing as half of the whole and more.
fn says_little(saving: &Saving, whole_ns: Ns) -> bool {
    saving.ns.lo < whole_ns / 50 && saving.ns.hi >= whole_ns / 2
}

/// `; finding 1 also saves 2.1 s or more of this`: the two are of the same time.
fn shared(saving: &Saving) -> String {
    let of = |shared: Shared| {
        format!("; finding {} also saves {} or more of this", shared.finding + 1, duration(shared.ns))
    };
    saving.shared.map(of).unwrap_or_default()
}

/// What a probe of this finding gave.
fn probed(at: usize, diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    match &diagnosis.probed {
        Some((of, probed)) if *of == at => {
            Line::new(look).pad_to(INDENT).add(Ink::Plain, &probe::line(probed, look)).wrap(INDENT)
        }
        _ => Vec::new(),
    }
}

/// All findings with what they rest on; then what is not there, and what could not be looked for.
pub(crate) fn all(run: &Run, diagnosis: &Diagnosis, look: Look) -> String {
    let mut parts = Vec::new();
    if !diagnosis.findings.is_empty() {
        parts.push(vec![Line::new(look).add(Ink::Bold, "causes found")]);
    }
    for (at, finding) in diagnosis.findings.iter().enumerate() {
        let mut lines = one(at, finding, run, diagnosis, look);
        lines.extend(probed(at, diagnosis, look));
        for (head, text) in rests_on(at, finding, run, diagnosis, look) {
            lines.extend(paragraph(head, &text, look));
        }
        parts.push(lines);
    }
    parts.extend(others(diagnosis, look).map(|(head, rows)| list(head, rows, look)));
    joined(&parts)
}

/// What a finding rests on, with a word before each sentence.
fn rests_on(
    at: usize,
    finding: &Finding,
    run: &Run,
    diagnosis: &Diagnosis,
    look: Look,
) -> Vec<(&'static str, String)> {
    let has = share_range(finding.share_ns.lo, finding.share_ns.hi, run.whole_ns(), look.dash());
    let mut rows = vec![("has", format!("{has} of the time"))];
    rows.extend(learnt(finding, run, look).map(|text| ("saves", text)));
    let told = [("seen", &finding.evidence), ("assumed", &finding.assumes), ("next", &finding.verify)];
    for (head, sentences) in told {
        rows.extend(sentences.iter().map(|sentence| (head, text(sentence, look))));
    }
    if let Some((of, Seen::Value(probed))) = &diagnosis.probed
        && *of == at
    {
        rows.push(("unseen", probe::cannot_say(probed.probe).to_owned()));
    }
    rows.push(("next", format!("dwell explain {}", finding.cause.id)));
    rows
}

/// What the structure of the run allows, and how likely the cause is.
fn learnt(finding: &Finding, run: &Run, look: Look) -> Option<String> {
    let saving = finding.saving.value()?;
    let Learnt { structure, beside_own_ns, .. } = saving.learnt?;
    let allows = share_range(structure.lo, structure.hi, run.whole_ns(), look.dash());
    let beside = match beside_own_ns {
        0 => String::new(),
        ns => format!(
            "; {} is neither the program's own computing nor a sleep elsewhere",
            share_range(ns, ns, run.whole_ns(), look.dash())
        ),
    };
    let belief = finding.belief.map_or_else(String::new, |belief| {
        format!("; a change of this cause helped in {:.0} % of the programs that showed it", belief * 100.0)
    });
    Some(format!("the structure of the run allows {allows} ({}){beside}{belief}", saving.known.id()))
}

/// A heading, and causes with a sentence each.
type Causes = (&'static str, Vec<(String, String)>);

/// The causes that are not there, and those that could not be looked for.
pub(super) fn others(diagnosis: &Diagnosis, look: Look) -> [Causes; 2] {
    let ruled_out = diagnosis.ruled_out.iter().map(|(cause, why)| (cause.id.to_string(), why_not(why, look)));
    let unseen = diagnosis.unavailable.iter().map(|(cause, why)| (cause.id.to_string(), why.clone()));
    [("looked for and not found", ruled_out.collect()), ("not looked for", unseen.collect())]
}

/// A finding for a document. Its texts are untrusted.
pub(crate) struct FindingText {
    pub(crate) what: String,
    pub(crate) change: String,
    pub(crate) saves: String,
    /// The saving as parts of the whole, where that is what it is of.
    pub(crate) part: Option<(f64, f64)>,
    pub(crate) cause: String,
    /// Causes that are consequences of it.
    pub(crate) explains: Vec<String>,
    pub(crate) rests_on: Vec<(&'static str, String)>,
    /// What a probe gave.
    pub(crate) probed: Vec<Line>,
}

/// All findings, as texts for a document.
pub(super) fn render(run: &Run, diagnosis: &Diagnosis, look: Look) -> Vec<FindingText> {
    let one = |(at, finding): (usize, &Finding)| FindingText {
        what: text(&finding.what, look),
        change: text(&finding.change, look),
        saves: saves(at, finding, run, diagnosis, look),
        part: part_of(finding, run),
        cause: finding.cause.id.to_string(),
        explains: finding.explains.iter().map(|cause| cause.id.to_string()).collect(),
        rests_on: rests_on(at, finding, run, diagnosis, look),
        probed: probed(at, diagnosis, look),
    };
    diagnosis.findings.iter().enumerate().map(one).collect()
}

fn part_of(finding: &Finding, run: &Run) -> Option<(f64, f64)> {
    let saving = finding.saving.value()?;
    let whole = run.whole_ns().max(1) as f64;
    let of_whole = saving.of == SavedTime::Wall || run.window.is_some();
    of_whole.then_some((saving.ns.lo as f64 / whole, saving.ns.hi as f64 / whole))
}

fn paragraph(head: &str, text: &str, look: Look) -> Vec<Line> {
    let line = Line::new(look).pad_to(INDENT).add(Ink::Dim, head).pad_to(INDENT + 9);
    line.add(Ink::Plain, text).wrap(INDENT + 9)
}

fn list(head: &str, rows: Vec<(String, String)>, look: Look) -> Vec<Line> {
    let rows = rows.into_iter().flat_map(|(id, why)| {
        Line::new(look).add(Ink::Plain, &format!("  {id}")).pad_to(24).add(Ink::Plain, &why).wrap(24)
    });
    let rows: Vec<Line> = rows.collect();
    if rows.is_empty() {
        return rows;
    }
    std::iter::once(Line::new(look).add(Ink::Bold, head)).chain(rows).collect()
}
