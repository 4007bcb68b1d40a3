//! Derives a recording from a real one: `derive lost|aarch64 IN OUT`.
//!
//! `lost` removes a run of events and adds an event that says so; `aarch64` changes only the
//! machine in the header, so that syscall numbers are looked up in another table.
// A development aid with its own `main`, not part of the crate.
#![allow(clippy::print_stderr)]

use model::{Event, Header, Trailer};
use std::path::Path;
use store::{DEFAULT_LIMIT_BYTES, Reader, Writer};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [what, from, to] = words.as_slice() else {
        return Err("usage: derive lost|aarch64 IN OUT".into());
    };
    let (mut header, mut events, mut trailer) = read(Path::new(from))?;
    match what.as_str() {
        "lost" => lose(&mut events, &mut trailer),
        "aarch64" => "aarch64".clone_into(&mut header.host.arch),
        other => return Err(format!("cannot derive {other}").into()),
    }
    let mut writer = Writer::create(Path::new(to), &header, DEFAULT_LIMIT_BYTES)?;
    events.iter().for_each(|event| writer.event(event));
    writer.end(&trailer);
    writer.finish(None)?;
    Ok(())
}

fn read(path: &Path) -> Result<(Header, Vec<Event>, Trailer), Failure> {
    let mut reader = Reader::open(path)?;
    let header = reader.header().clone();
    let events = reader.by_ref().collect();
    Ok((header, events, reader.end().trailer.ok_or("the recording has no trailer")?))
}

/// Removes the events between 50 % and 60 %, except those about code and files, which are not
/// delivered by the ring that can lose events.
fn lose(events: &mut Vec<Event>, trailer: &mut Trailer) {
    let (from, to) = (events.len() / 2, events.len() * 3 / 5);
    let can_be_lost = |event: &Event| {
        matches!(
            event,
            Event::Switch { .. }
                | Event::Wake { .. }
                | Event::Woken { .. }
                | Event::Flush { .. }
                | Event::Sample { .. }
                | Event::Sampled { .. }
        )
    };
    let range = events.splice(from..to, []).collect::<Vec<_>>();
    let (gone, mut left): (Vec<_>, Vec<_>) = range.into_iter().partition(can_be_lost);
    let at = gone.iter().rev().find_map(Event::at).unwrap_or(0);
    let lost = gone.len() as u64;
    left.push(Event::Lost { at, events: lost });
    events.splice(from..from, left);
    trailer.lost_events = model::Seen::Value(lost);
}
