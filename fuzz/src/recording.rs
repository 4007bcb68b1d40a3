//! Changes of recordings that leave them recordings: of the header, an event, the order of events,
//! the trailer.

use crate::json;
use crate::random::Random;
use golden::fuzzed::sealed;
use model::Event;
use serde_json::Value;
use store::MAGIC;

/// A recording in its parts, as far as they can be read.
struct Parts {
    header: Value,
    events: Vec<Event>,
    trailer: Option<Value>,
    result: Option<Value>,
}

/// Changes an input of libFuzzer. What is no recording, and some of what is, libFuzzer changes by
/// bytes.
pub fn mutate(bytes: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let mut random = Random::new(seed);
    if random.below(16) > 0
        && let Some(mut parts) = Parts::read(&bytes[..size])
    {
        parts.change(&mut random);
        if let Some(whole) = parts.write()
            && whole.len() <= most
        {
            bytes[..whole.len()].copy_from_slice(&whole);
            return whole.len();
        }
    }
    let size = libfuzzer_sys::fuzzer_mutate(bytes, size, most);
    // What is kept can be replayed as it is.
    let whole = sealed(&bytes[..size]);
    if whole.len() > most {
        return size;
    }
    bytes[..whole.len()].copy_from_slice(&whole);
    whole.len()
}

impl Parts {
    fn read(recording: &[u8]) -> Option<Self> {
        let (mut header, mut trailer, mut result, mut events) = (None, None, None, Vec::new());
        let whole = sealed(recording);
        let mut rest = whole.strip_prefix(MAGIC)?;
        while let Some((before, after)) = rest.split_first_chunk::<5>() {
            let [kind, length @ ..] = *before;
            let (content, next) = after.split_at(u32::from_le_bytes(length) as usize);
            match kind {
                b'H' => header = serde_json::from_slice(content).ok(),
                b'T' => trailer = serde_json::from_slice(content).ok(),
                b'R' => result = serde_json::from_slice(content).ok(),
                b'E' => {
                    let mut content = content;
                    while let Ok((event, left)) = postcard::take_from_bytes::<Event>(content) {
                        events.push(event);
                        content = left;
                    }
                }
                _ => {}
            }
            rest = next.get(4..)?;
        }
        Some(Self { header: header?, events, trailer, result })
    }

    fn change(&mut self, random: &mut Random) {
        match random.below(16) {
            0 | 1 => json::change(&mut self.header, random),
            2 | 3 => match &mut self.trailer {
                Some(trailer) => json::change(trailer, random),
                None => self.events.clear(),
            },
            4 => match &mut self.result {
                Some(result) => json::change(result, random),
                None => self.trailer = None,
            },
            _ if self.events.is_empty() => json::change(&mut self.header, random),
            5 => {
                let from = random.below(self.events.len());
                let count = 1 + random.below(20);
                self.events.drain(from..self.events.len().min(from + count));
            }
            6 => {
                let (from, to) = (random.below(self.events.len()), random.below(self.events.len()));
                let event = self.events.remove(from);
                self.events.insert(to, event);
            }
            7 => {
                let from = random.below(self.events.len());
                let to = self.events.len().min(from + 1 + random.below(8));
                let again = self.events[from..to].to_vec();
                let at = random.below(self.events.len());
                self.events.splice(at..at, again);
            }
            _ => {
                for _ in 0..=random.below(3) {
                    self.change_event(random);
                }
            }
        }
    }

    /// Changes an event's content: by its JSON, which has all its fields.
    fn change_event(&mut self, random: &mut Random) {
        let at = random.below(self.events.len());
        let Some(event) = self.events.get_mut(at) else { return };
        let Ok(mut value) = serde_json::to_value(&*event) else { return };
        json::change(&mut value, random);
        if let Ok(changed) = serde_json::from_value(value) {
            *event = changed;
        }
    }

    fn write(&self) -> Option<Vec<u8>> {
        let mut whole = MAGIC.to_vec();
        let mut block = |kind: u8, content: &[u8]| {
            whole.push(kind);
            whole.extend((content.len() as u32).to_le_bytes());
            whole.extend(content);
            whole.extend([0; 4]);
        };
        block(b'H', &serde_json::to_vec(&self.header).ok()?);
        let events: Option<Vec<Vec<u8>>> =
            self.events.iter().map(|event| postcard::to_stdvec(event).ok()).collect();
        block(b'E', &events?.concat());
        for (kind, value) in [(b'R', &self.result), (b'T', &self.trailer)] {
            if let Some(value) = value {
                block(kind, &serde_json::to_vec(value).ok()?);
            }
        }
        Some(sealed(&whole))
    }
}
