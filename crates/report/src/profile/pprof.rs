//! The profile of pprof (`https://github.com/google/pprof/blob/main/proto/profile.proto`), packed
//! with gzip as it wants it.
//!
//! Three values a sample, in nanoseconds: `cpu`, `waiting` (blocked), and `wall`, which is all of a
//! thread's life, so also the run queue. Each sums to the threads' ledgers. Threads and states are
//! labels; as in the other formats, a state is also the innermost frame where no function shows it.

use super::ledger::{Part, parts};
use super::metadata::ProfileMetadata;
use super::stack::{ending, ending_name, function_name, walk};
use crate::clean::clean;
use crate::export::Exported;
use crate::export::proto::Message;
use flate2::Compression;
use flate2::write::GzEncoder;
use model::profile::Profile;
use model::{Run, State};
use std::collections::HashMap;
use std::hash::Hash;
use std::io::Write;

/// The names of the values, in their order.
const VALUES: [&str; 3] = ["cpu", "waiting", "wall"];
const UNIT: &str = "nanoseconds";

/// The file.
pub fn pprof(run: &Run, profile: &Profile, metadata: &ProfileMetadata<'_>) -> Exported {
    let mut writer = Writer::new(profile, run.command.first().map_or("", String::as_str));
    let mut message = Message::default();
    for name in VALUES {
        let value_type = writer.value_type(name);
        message.message(1, &value_type);
    }
    for part in parts(run, profile) {
        let sample = writer.sample(run, &part);
        message.message(2, &sample);
    }
    let comments = [metadata.title(), super::metadata::EXPORTER.to_owned(), run.host.name.clone()];
    let comments = comments.map(|text| writer.text(&text));
    let period = writer.value_type("cpu");
    let default = writer.text("wall");
    for (field, messages) in
        [(3, &writer.mappings.messages), (4, &writer.locations.messages), (5, &writer.functions.messages)]
    {
        messages.iter().for_each(|one| {
            message.message(field, one);
        });
    }
    for text in &writer.texts.all {
        message.item(6, text.as_bytes());
    }
    message.number(9, metadata.started_at_unix_s.saturating_mul(1_000_000_000));
    message.number(10, metadata.wall_ns);
    message.message(11, &period).number(12, 1).numbers(13, comments).number(14, default);
    let left_out = vec![
        "it has sums only: the order in time, hand-overs, the critical path, reasons of waits and findings \
         are not in it"
            .to_owned(),
        "time on a CPU is that of the threads' ledgers, divided among functions by samples".to_owned(),
    ];
    Exported { bytes: packed(&message.finish()), left_out }
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    packer.write_all(bytes).and_then(|()| packer.finish()).expect("memory can be written")
}

/// What is written once and referred to by its number, from 1.
struct Interner<K> {
    ids: HashMap<K, u64>,
    messages: Vec<Message>,
}

impl<K: Eq + Hash> Interner<K> {
    fn new() -> Self {
        Self { ids: HashMap::new(), messages: Vec::new() }
    }

    fn id(&mut self, key: K, make: impl FnOnce(u64) -> Message) -> u64 {
        let next = self.messages.len() as u64 + 1;
        *self.ids.entry(key).or_insert_with(|| {
            self.messages.push(make(next));
            next
        })
    }
}

/// Texts, the first of which is empty.
#[derive(Default)]
struct Texts {
    ids: HashMap<String, u64>,
    all: Vec<String>,
}

impl Texts {
    fn id(&mut self, text: String) -> u64 {
        let next = self.all.len() as u64;
        *self.ids.entry(text).or_insert_with_key(|text| {
            self.all.push(text.clone());
            next
        })
    }
}

/// A place of a stack: a frame of the profile, or a state.
#[derive(PartialEq, Eq, Hash, Clone, Copy)]
enum LocationKey {
    Frame(u32),
    State(State, bool),
}

/// A function by name, file and the line that it begins on.
type FunctionKey = (u64, u64, u32);

struct Writer<'a> {
    profile: &'a Profile,
    texts: Texts,
    mappings: Interner<u64>,
    functions: Interner<FunctionKey>,
    locations: Interner<LocationKey>,
}

impl<'a> Writer<'a> {
    fn new(profile: &'a Profile, program: &str) -> Self {
        let mut writer = Self {
            profile,
            texts: Texts::default(),
            mappings: Interner::new(),
            functions: Interner::new(),
            locations: Interner::new(),
        };
        writer.text("");
        // The first one is what viewers call the profile.
        writer.mapping(program.rsplit('/').next().unwrap_or(program));
        writer
    }

    fn text(&mut self, text: &str) -> u64 {
        self.texts.id(clean(text, true))
    }

    fn value_type(&mut self, name: &str) -> Message {
        let (name, unit) = (self.text(name), self.text(UNIT));
        let mut message = Message::default();
        message.number(1, name).number(2, unit);
        message
    }

    fn mapping(&mut self, module: &str) -> u64 {
        let name = self.text(module);
        self.mappings.id(name, |id| {
            let mut message = Message::default();
            message.number(1, id).number(5, name);
            // Names are known as far as they can be: viewers need not look for more.
            message.number(7, 1).number(8, 1).number(9, 1).number(10, 1);
            message
        })
    }

    fn sample(&mut self, run: &Run, part: &Part) -> Message {
        let mut stack = Vec::new();
        match (part.node, part.doing) {
            (Some(node), Some(doing)) => {
                if ending(self.profile, node, doing).is_some() {
                    stack.push(self.location(LocationKey::State(part.state, true)));
                }
                for node in walk(self.profile, node) {
                    let Some(node) = self.profile.nodes.get(node as usize) else { break };
                    stack.push(self.location(LocationKey::Frame(node.frame)));
                }
            }
            _ => stack.push(self.location(LocationKey::State(part.state, false))),
        }
        let in_state = |is: bool| if is { part.ns } else { 0 };
        let values = [in_state(part.state.on_cpu()), in_state(part.state.blocked()), part.ns];
        let ledger = &run.threads[part.ledger];
        let owner = part.thread.and_then(|thread| self.profile.threads.get(thread as usize));
        let (name, pid, tid) =
            owner.map_or((&ledger.name, ledger.pid, ledger.tid), |owner| (&owner.name, owner.pid, owner.tid));
        let mut message = Message::default();
        message.numbers(1, stack).numbers(2, values);
        for (key, text) in [("thread", name.as_str()), ("state", part.state.name())] {
            let (key, text) = (self.text(key), self.text(text));
            message.message(3, Message::default().number(1, key).number(2, text));
        }
        for (key, number) in [("pid", pid), ("tid", tid)] {
            let key = self.text(key);
            message.message(3, Message::default().number(1, key).number(3, number.into()));
        }
        message
    }

    fn location(&mut self, place: LocationKey) -> u64 {
        if let Some(id) = self.locations.ids.get(&place) {
            return *id;
        }
        let (name, module, source, first_line) = match place {
            LocationKey::State(state, with_stack) => (state_name(state, with_stack), "", None, 0),
            LocationKey::Frame(at) => {
                let frame = self.profile.frames.get(at as usize);
                (
                    function_name(self.profile, at),
                    frame.map_or("", |frame| frame.module.as_str()),
                    frame.and_then(|frame| frame.source.as_ref()),
                    frame.map_or(0, |frame| frame.first_line),
                )
            }
        };
        let mapping = if module.is_empty() { 0 } else { self.mapping(module) };
        let (name, file) = (self.text(&name), self.text(source.map_or("", |(file, _)| file)));
        let function = self.functions.id((name, file, first_line), |id| {
            let mut message = Message::default();
            message
                .number(1, id)
                .number(2, name)
                .number(3, name)
                .number(4, file)
                .number(5, first_line.into());
            message
        });
        let line = source.map_or(0, |(_, line)| *line);
        self.locations.id(place, |id| {
            let mut message = Message::default();
            message.number(1, id).number(2, mapping);
            message.message(4, Message::default().number(1, function).number(2, line.into()));
            message
        })
    }
}

/// The frame for a state, at the end of a stack or in place of one.
fn state_name(state: State, with_stack: bool) -> String {
    match state {
        _ if with_stack => ending_name(state),
        state if state.blocked() => format!("[waiting: {}, no stack]", state.name()),
        state if state.on_cpu() => format!("[{}, no stack]", state.name()),
        state => format!("[{}]", state.name()),
    }
}
