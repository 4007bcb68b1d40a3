//! The page that fits a screen: what a run is bound by in one sentence, what qualifies that, the
//! bar, what to change, the few places that have nearly all of the time, and what it rests on. The
//! page with all tables has the rest.

mod places;
pub(super) mod qualifiers;
mod rests_on;
mod sentence;

use super::{account, by_size, counters, explained, findings, headline, peers, requests, whole};
use crate::Look;
use crate::command;
use crate::paint::{Ink, Line, joined};
use model::{Diagnosis, Run};

/// What is shown of findings and places; the first that fits is.
#[derive(Debug, Clone, Copy)]
struct Room {
    /// Findings, and of how many of these what to change.
    findings: usize,
    changes: usize,
    places: usize,
    /// How many of these: what explains the time, and the question that stays open.
    explained: usize,
    /// Parts of the time of requests.
    requests: usize,
    /// What qualifies the sentence.
    qualifiers: usize,
}

/// How many of the rooms are for screens of more than the usual rows.
const LARGER: usize = 2;

const ROOMS: [Room; 16] = [
    Room { findings: 3, changes: 3, places: 14, explained: 2, requests: 10, qualifiers: ALL },
    Room { findings: 3, changes: 3, places: 9, explained: 2, requests: 8, qualifiers: ALL },
    Room { findings: 3, changes: 3, places: 6, explained: 2, requests: 5, qualifiers: ALL },
    Room { findings: 3, changes: 3, places: 4, explained: 2, requests: 5, qualifiers: ALL },
    Room { findings: 3, changes: 2, places: 4, explained: 2, requests: 4, qualifiers: ALL },
    Room { findings: 3, changes: 1, places: 4, explained: 2, requests: 4, qualifiers: ALL },
    Room { findings: 2, changes: 1, places: 4, explained: 2, requests: 4, qualifiers: ALL },
    Room { findings: 2, changes: 1, places: 3, explained: 2, requests: 4, qualifiers: ALL },
    Room { findings: 2, changes: 1, places: 2, explained: 2, requests: 3, qualifiers: ALL },
    Room { findings: 1, changes: 1, places: 3, explained: 2, requests: 3, qualifiers: ALL },
    Room { findings: 1, changes: 1, places: 2, explained: 2, requests: 2, qualifiers: ALL },
    Room { findings: 1, changes: 1, places: 2, explained: 1, requests: 2, qualifiers: ALL },
    Room { findings: 1, changes: 1, places: 2, explained: 0, requests: 2, qualifiers: ALL },
    Room { findings: 1, changes: 1, places: 2, explained: 0, requests: 2, qualifiers: 2 },
    Room { findings: 1, changes: 1, places: 1, explained: 0, requests: 2, qualifiers: 1 },
    Room { findings: 1, changes: 1, places: 0, explained: 0, requests: 1, qualifiers: 1 },
];

/// More than there are qualifiers.
pub(super) const ALL: usize = 100;
/// They take no more than this many lines of a smaller screen, before anything else gives way.
const OF_SMALL: usize = 2;

/// The rooms of a screen, from the largest.
fn rooms(look: Look) -> impl Iterator<Item = Room> {
    let larger = if look.height > Look::HEIGHT { 0 } else { LARGER };
    let most = if look.height < Look::HEIGHT { OF_SMALL } else { ALL };
    ROOMS.into_iter().skip(larger).map(move |room| Room { qualifiers: room.qualifiers.min(most), ..room })
}

/// The page, with a newline after each line.
pub(crate) fn page(run: &Run, diagnosis: &Diagnosis, look: Look) -> String {
    made(run, diagnosis, look, true)
}

/// The page of somebody who is to find the cause.
pub(crate) fn without_findings(run: &Run, diagnosis: &Diagnosis, look: Look) -> String {
    made(run, diagnosis, look, false)
}

fn made(run: &Run, diagnosis: &Diagnosis, look: Look, with_findings: bool) -> String {
    let small = look.height < Look::HEIGHT;
    let mut head = match &run.window {
        Some(window) => first(headline::attached(window, run, look).wrap(2), 2, look),
        None => vec![command::line(&run.command, look)],
    };
    head.extend(first(sentence::line(run, diagnosis, look).wrap(2), if small { 3 } else { 4 }, look));
    let mut bar = account::short(run, &by_size(run), look);
    if !small {
        bar.extend(first(counters::lines(run, look), 2, look));
    }
    bar.extend(whole::lines(run, look));
    let end = rests_on::lines(run, diagnosis, look);
    let served_by = peers::processes(run, look);
    let explained = [explained::sums(diagnosis, look), explained::question(diagnosis, look)];
    let parts = |room: &Room| {
        let mut found = Vec::new();
        if with_findings {
            found = findings::short(run, diagnosis, look, room.findings, room.changes);
            found.extend(explained.iter().take(room.explained).flatten().cloned());
        }
        let mut places = if room.places == 0 { Vec::new() } else { places::table(run, look, room.places) };
        places.extend(served_by.iter().cloned());
        let requests = requests::table(run, look, room.requests);
        let mut head = head.clone();
        head.extend(qualifiers::lines(run, diagnosis, look, room.qualifiers));
        [head, requests, bar.clone(), found, places, end.clone()]
    };
    let mut page = String::new();
    for room in rooms(look) {
        page = joined(&parts(&room));
        if page.lines().count() <= look.lines() {
            break;
        }
    }
    page
}

/// Not more than this many lines of a paragraph.
fn first(mut lines: Vec<Line>, most: usize, look: Look) -> Vec<Line> {
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.pop() {
            let room = look.columns() - 2;
            // One that is cut ends in dots already.
            let is_cut = last.width() > room;
            lines.push(if is_cut { last.cut_to(room) } else { last.add(Ink::Dim, look.rest()) });
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_of_a_paragraph_is_marked_once() {
        let look = Look { width: 40, colour: false, unicode: true, height: Look::HEIGHT };
        let line = |text: &str| Line::new(look).add(Ink::Plain, text);
        let cut = |text: &str| first(vec![line(text), line("more")], 1, look)[0].render();
        assert_eq!(cut("twelve bytes"), "twelve bytes…");
        let long = "as long as the page, all but a character";
        assert_eq!(cut(long), format!("{}…", &long[..37]));
        assert_eq!(first(vec![line("all of it")], 1, look)[0].render(), "all of it");
    }
}
