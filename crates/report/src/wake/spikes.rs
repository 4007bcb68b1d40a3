//! The largest spikes and their causes.

use super::words::{cause, cause_of};
use crate::Look;
use crate::paint::{GAP, Ink, Line, paragraphs};
use crate::units::{count, duration, exact};
use model::Seen;
use model::wake::spike::{LatencyShare, Spike};
use model::wake::{WakeMode, Wakeups};

/// Spikes shown with all their parts.
const MOST: usize = 5;
/// Functions of a stack that are shown.
const FRAMES: usize = 6;

pub(crate) fn lines(wakeups: &Wakeups, look: Look) -> Vec<Line> {
    let spikes = match &wakeups.spikes {
        Seen::Value(spikes) => spikes,
        // Gaps are not traced.
        _ if wakeups.settings.asked.mode == WakeMode::Gap => return Vec::new(),
        Seen::Absent => return Vec::new(),
        Seen::Unseen(why) => {
            let lead = Line::new(look).add(Ink::Warn, "causes of spikes unknown: ");
            return paragraphs(lead, why, GAP);
        }
    };
    if spikes.is_empty() {
        let Some(ns) = wakeups.settings.asked.spike_ns else { return Vec::new() };
        let none = format!("no spike: no wake-up was later than {}", exact(ns));
        return Line::new(look).add(Ink::Dim, &none).wrap(GAP);
    }
    let mut lines = vec![Line::new(look).add(Ink::Bold, "largest spikes by cause").cut()];
    for (at, spike) in spikes.iter().take(MOST).enumerate() {
        lines.extend(shares(spike, look));
        // A stack that repeats is shown once.
        let before = at.checked_sub(1).map(|before| &spikes[before].stack);
        if before != Some(&spike.stack) {
            lines.extend(stack(spike, look));
        }
    }
    lines.extend(rest(&spikes[spikes.len().min(MOST)..], look).wrap(2 * GAP));
    lines
}

/// One spike with its parts in the order of time.
fn shares(spike: &Spike, look: Look) -> Vec<Line> {
    let mut line = Line::new(look)
        .pad_to(GAP)
        .glued(Ink::Bold, &duration(spike.ns))
        .add(Ink::Plain, &format!(" on CPU {} at ", spike.cpu))
        .glued(Ink::Plain, &duration(spike.at_ns))
        .add(Ink::Plain, ": ");
    for (at, share) in spike.shares.iter().enumerate() {
        let lead = if at > 0 { ", " } else { "" };
        let name = cause_of(share.cause, share.who.as_deref());
        line = line
            .add(Ink::Plain, lead)
            .add(ink(share, spike), &format!("{name} "))
            .glued(ink(share, spike), &duration(share.ns));
    }
    if let Some(lost) = &spike.lost {
        line = line.add(Ink::Dim, &format!(" (lost events: {lost})"));
    }
    line.wrap(2 * GAP)
}

/// The kernel stack of the task that had the CPU.
fn stack(spike: &Spike, look: Look) -> Vec<Line> {
    let Seen::Value(stack) = &spike.stack else { return Vec::new() };
    if stack.is_empty() {
        return Vec::new();
    }
    let mut line = Line::new(look).pad_to(2 * GAP).add(Ink::Dim, "in ");
    for (at, function) in stack.iter().take(FRAMES).enumerate() {
        let lead = if at > 0 { look.called_by() } else { "" };
        line = line.add(Ink::Dim, lead).add(Ink::Dim, function);
    }
    let rest = if stack.len() > FRAMES { look.called_by().to_owned() + look.rest() } else { String::new() };
    line.add(Ink::Dim, &rest).wrap(2 * GAP)
}

fn ink(share: &LatencyShare, spike: &Spike) -> Ink {
    if share.cause == spike.cause && share.who == spike.who { Ink::Warn } else { Ink::Plain }
}

/// The number of other spikes by main cause.
fn rest(spikes: &[Spike], look: Look) -> Line {
    let line = Line::new(look);
    if spikes.is_empty() {
        return line;
    }
    let mut causes: Vec<(String, u64)> = Vec::new();
    for spike in spikes {
        let name = cause(spike.cause).to_owned();
        match causes.iter_mut().find(|(known, _)| *known == name) {
            Some((_, n)) => *n += 1,
            None => causes.push((name, 1)),
        }
    }
    causes.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let causes: Vec<String> = causes.iter().map(|(name, n)| format!("{name} {n}{}", look.times())).collect();
    let lead = format!("{} {} more by main cause: ", look.rest(), count(spikes.len() as u64));
    line.pad_to(GAP).add(Ink::Dim, &lead).add(Ink::Dim, &causes.join(", "))
}
