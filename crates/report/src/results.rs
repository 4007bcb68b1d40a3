//! The list of kept results, one in a line, and the state of the store.

use crate::Look;
use crate::clean::{clean, fit};
use crate::page::words;
use crate::paint::{Ink, Line};
use crate::units::{bytes, count, counted, duration, limit};
use model::Ns;
use model::list::Listed;
use model::run::Bound;

/// The class of a run in a word: `I/O-bound`.
pub fn class(bound: &Bound) -> &'static str {
    words::class(bound.class, Some(bound.resource))
}

/// Widths of the columns before the command. The finding is left out of narrow lists.
const TIME: usize = 16;
const VERB: usize = 7;
const WALL: usize = 8;
const VERDICT: usize = 12;
const FINDING: usize = 18;
const WIDE: u16 = 100;

/// The line above a list.
pub fn head(look: Look) -> String {
    let mut line = format!(
        "{:8}  {:TIME$}  {:VERB$}  {:>WALL$}  {:VERDICT$}  ",
        "id", "when (UTC)", "", "wall", "verdict"
    );
    if look.width >= WIDE {
        line.push_str(&format!("{:FINDING$}  ", "first finding"));
    }
    line.push_str("command");
    Line::new(look).add(Ink::Dim, &line).render() + "\n"
}

/// A result in a line, and its note in another one.
pub fn line(listed: &Listed, look: Look) -> String {
    let cell = |text: &str, width: usize| {
        let text = fit(&clean(text, look.unicode), width, look.unicode);
        let blanks = width.saturating_sub(crate::clean::width(&text));
        format!("{text}{}  ", " ".repeat(blanks))
    };
    let at = listed.at.replace('T', " ");
    let at = at.get(..TIME).unwrap_or(&at);
    let wall = listed.wall_ns.map_or_else(String::new, duration);
    let mut line = Line::new(look)
        .add(Ink::Bold, &cell(&listed.id, 8))
        .glued(Ink::Plain, &cell(at, TIME))
        .glued(Ink::Plain, &cell(&listed.verb, VERB))
        .glued(Ink::Plain, &format!("{wall:>WALL$}  "))
        .glued(Ink::Plain, &cell(listed.verdict.as_deref().unwrap_or_default(), VERDICT));
    if look.width >= WIDE {
        line = line.glued(Ink::Plain, &cell(listed.finding.as_deref().unwrap_or_default(), FINDING));
    }
    let tags: String = listed.tags.iter().map(|tag| format!("[{tag}] ")).collect();
    let recording = if listed.has_recording { "+ " } else { "" };
    let elsewhere = listed.elsewhere.as_ref().map_or_else(String::new, |host| format!("{host}: "));
    let line = line
        .glued(Ink::Bold, &clean(&tags, look.unicode))
        .glued(Ink::Dim, recording)
        .glued(Ink::Dim, &clean(&elsewhere, look.unicode))
        .glued(Ink::Plain, &clean(&listed.command, look.unicode))
        .cut();
    let mut text = line.render() + "\n";
    if let Some(note) = &listed.note {
        let note = Line::new(look).pad_to(10).add(Ink::Dim, &clean(note, look.unicode)).cut();
        text.push_str(&(note.render() + "\n"));
    }
    text
}

/// The state of a store, in words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreFacts {
    /// Its file.
    pub path: String,
    /// Its version, and that which this dwell writes.
    pub version: (i64, i64),
    /// Results, and those with tags.
    pub results: (u64, u64),
    /// What they take.
    pub used_bytes: u64,
    /// Of that, recordings.
    pub recordings_bytes: u64,
    /// How much they may take.
    pub limit_bytes: u64,
    /// Where results are sent.
    pub destinations: Vec<Destination>,
}

/// Where results are sent, and how far that is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Destination {
    /// The directory or URL, and the form.
    pub name: String,
    /// Results that it has not.
    pub unsent: u64,
    /// Results that it took.
    pub sent: u64,
    /// Results of which it refused all or a part.
    pub refused: u64,
    /// Records and points that it refused of what it took.
    pub rejected: u64,
    /// Results that the limit of the store removed before they were sent.
    pub evicted: u64,
    /// What it said last, if it failed.
    pub said: Option<String>,
    /// How long it is left alone.
    pub again_in_ns: Ns,
    /// The newest refusals.
    pub refusals: Vec<RefusalFacts>,
}

/// What a destination did not take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefusalFacts {
    /// When: RFC 3339.
    pub at: String,
    /// The number of the result; empty where it is one of several.
    pub result: String,
    /// Which part of it.
    pub part: String,
    /// What was said.
    pub why: String,
}

impl Destination {
    /// Figures that are not 0, with what they count.
    fn figures(&self) -> impl Iterator<Item = String> {
        let results = |number, done: &str| (number, format!("{} {done}", counted(number, "result")));
        let figures = [
            results(self.unsent, "not sent"),
            results(self.refused, "refused"),
            (self.rejected, format!("{} of accepted ones refused", counted(self.rejected, "record"))),
            results(self.evicted, "deleted by the limit before they were sent"),
        ];
        figures.into_iter().filter(|(number, _)| *number > 0).map(|(_, text)| text)
    }

    /// Why it has not all, and when it is tried again.
    fn why(&self) -> Option<String> {
        let said = self.said.as_ref()?;
        Some(match self.again_in_ns {
            0 => said.clone(),
            ns => format!("{said}; not before {} from now", duration(ns)),
        })
    }
}

/// The destinations, with what they did not take.
pub fn destinations(all: &[Destination], look: Look) -> String {
    let mut text = String::new();
    let mut line = |ink, indent, words: &str| {
        let line = Line::new(look).pad_to(indent).add(ink, &clean(words, look.unicode)).cut();
        text.push_str(&(line.render() + "\n"));
    };
    for one in all {
        line(Ink::Bold, 0, &one.name);
        let figures = [format!("{} sent", counted(one.sent, "result"))].into_iter().chain(one.figures());
        line(Ink::Plain, 2, &figures.collect::<Vec<_>>().join(", "));
        if let Some(why) = one.why() {
            line(Ink::Plain, 2, &format!("last: {why}"));
        }
        for refusal in &one.refusals {
            let at = refusal.at.get(..TIME).unwrap_or(&refusal.at).replace('T', " ");
            let words = [at.as_str(), refusal.result.as_str(), refusal.part.as_str(), refusal.why.as_str()];
            let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
            line(Ink::Dim, 2, &words.join("  "));
        }
    }
    text
}

/// What one push did: the results and bytes that were sent, and what is left.
pub fn pushed(to: &Destination, sent: u64, sent_bytes: u64) -> String {
    let mut text = format!("{} sent to {} ({})\n", counted(sent, "result"), to.name, bytes(sent_bytes));
    for figure in to.figures() {
        text.push_str(&format!("  {figure}\n"));
    }
    if let Some(why) = to.why() {
        text.push_str(&format!("  {why}\n"));
    }
    if to.refused > 0 || to.rejected > 0 {
        text.push_str("  why they were refused: dwell push\n");
    }
    text.lines().map(|line| clean(line, false) + "\n").collect()
}

/// Where the store is, and how large.
pub fn store(facts: &StoreFacts, look: Look) -> String {
    let (version, written) = facts.version;
    let newer = if version > written { ", of a newer dwell: read, and never written" } else { "" };
    let (results, tagged) = facts.results;
    let rows = [
        ("store", facts.path.clone()),
        ("results", format!("{}, {} with tags", count(results), count(tagged))),
        (
            "size",
            format!(
                "{} of at most {}; recordings {}",
                bytes(facts.used_bytes),
                limit(facts.limit_bytes),
                bytes(facts.recordings_bytes)
            ),
        ),
        ("version", format!("{version}{newer}")),
    ];
    let sent = facts.destinations.iter().map(|to| {
        let figures: Vec<_> = [format!("{} to {}", counted(to.sent, "result"), to.name)]
            .into_iter()
            .chain(to.figures())
            .collect();
        ("sent", figures.join(", "))
    });
    let row = |(name, value): &(&str, String)| {
        let line = Line::new(look).add(Ink::Dim, name).pad_to(9);
        line.add(Ink::Plain, &clean(value, look.unicode)).render() + "\n"
    };
    rows.into_iter().chain(sent).map(|one| row(&one)).collect()
}

/// The line below a list that has not all.
pub fn more(shown: u64, look: Look) -> String {
    let text = format!("the newest {}; all: dwell list --all", counted(shown, "result"));
    Line::new(look).add(Ink::Dim, &text).render() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed() -> Listed {
        Listed {
            id: "0a1b2c3d".into(),
            at: "2026-11-25T19:40:07Z".into(),
            verb: "run".into(),
            command: "ls -lR /usr".into(),
            wall_ns: Some(1_234_000_000),
            verdict: Some("I/O-bound".into()),
            finding: Some("sync-writes".into()),
            ..Listed::default()
        }
    }

    const LOOK: Look = Look::PLAIN;

    #[test]
    fn a_result_is_a_line_below_its_heads() {
        assert_eq!(
            head(LOOK) + &line(&listed(), LOOK),
            "id        when (UTC)                     wall  verdict       first finding       command\n\
             0a1b2c3d  2026-11-25 19:40  run        1.23 s  I/O-bound     sync-writes         ls -lR /usr\n"
        );
        let narrow = line(&listed(), Look { width: 80, ..LOOK });
        assert!(!narrow.contains("sync-writes") && narrow.contains("ls -lR"), "{narrow}");
    }

    #[test]
    fn what_others_chose_is_harmless() {
        let hostile = "\x1b[31m\u{202e}\n".to_owned();
        let listed = Listed {
            id: hostile.clone(),
            at: hostile.clone(),
            verb: hostile.clone(),
            command: hostile.repeat(3000),
            elsewhere: Some(hostile.clone()),
            verdict: Some(hostile.clone()),
            finding: Some(hostile.clone()),
            tags: vec![hostile.clone()],
            note: Some(hostile.clone()),
            ..listed()
        };
        let text = line(&listed, LOOK);
        assert_eq!(text.lines().count(), 2);
        assert!(!text.contains(['\x1b', '\u{202e}']), "{text:?}");
        assert!(text.lines().all(|line| crate::clean::width(line) <= 100), "{text}");
        let facts = StoreFacts { path: hostile, ..StoreFacts::default() };
        assert!(!store(&facts, LOOK).contains('\x1b'));
    }
}
