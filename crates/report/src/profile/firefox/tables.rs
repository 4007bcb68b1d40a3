//! The tables that all threads of a Firefox profile share: stacks, frames, functions, files,
//! strings. Each is a set of columns of the same length.

use super::super::stack::{ending, ending_name, function_name};
use super::super::tree::functions;
use model::State;
use model::profile::{Activity, Profile};
use model::recording::Language;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Positions in [`categories`].
const USER: usize = 1;
const KERNEL: usize = 2;
const WAITING: usize = 3;

/// The categories, by which samples are coloured; those of waiting are by state. The first is the
/// default and must be grey.
pub(super) fn categories() -> Value {
    let waits = State::ALL.iter().map(|state| state.name());
    let waits: Vec<&str> = std::iter::once("Other").chain(waits).collect();
    json!([
        {"name": "Other", "color": "grey", "subcategories": ["Other"]},
        {"name": "User", "color": "green", "subcategories": ["Other", "Native", "Python", "JIT"]},
        {"name": "Kernel", "color": "orange", "subcategories": ["Other"]},
        {"name": "Waiting", "color": "blue", "subcategories": waits},
    ])
}

#[derive(Default, Serialize)]
struct StackTable {
    frame: Vec<u32>,
    prefix: Vec<Option<u32>>,
    length: u32,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct FrameTable {
    address: Vec<i64>,
    inline_depth: Vec<u32>,
    category: Vec<usize>,
    subcategory: Vec<usize>,
    func: Vec<u32>,
    native_symbol: Vec<Option<u32>>,
    #[serde(rename = "innerWindowID")]
    inner_window_id: Vec<Option<u32>>,
    line: Vec<Option<u32>>,
    column: Vec<Option<u32>>,
    length: u32,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct FuncTable {
    name: Vec<u32>,
    #[serde(rename = "isJS")]
    is_js: Vec<bool>,
    #[serde(rename = "relevantForJS")]
    relevant_for_js: Vec<bool>,
    resource: Vec<i64>,
    source: Vec<Option<u32>>,
    line_number: Vec<Option<u32>>,
    column_number: Vec<Option<u32>>,
    length: u32,
}

/// Modules. In the format each is a resource of type library (1), and a library.
#[derive(Default)]
struct Modules {
    names: Vec<String>,
    known: HashMap<String, u32>,
}

#[derive(Default)]
struct Strings {
    all: Vec<String>,
    known: HashMap<String, u32>,
}

impl Strings {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.known.get(text) {
            return *number;
        }
        let number = self.all.len() as u32;
        self.all.push(text.to_owned());
        self.known.insert(text.to_owned(), number);
        number
    }
}

/// A frame of the file: one of the profile with its inline depth, or one that names a state.
#[derive(PartialEq, Eq, Hash, Clone, Copy)]
enum FrameKey {
    Frame(u32, u32),
    Ending(State),
}

/// The tables while stacks are added.
pub(super) struct Stacks<'a> {
    profile: &'a Profile,
    functions: Vec<u32>,
    strings: Strings,
    /// For each file, the number of its name among the strings.
    files: Vec<u32>,
    file_of: HashMap<u32, u32>,
    modules: Modules,
    funcs: FuncTable,
    func_of: HashMap<u32, u32>,
    frames: FrameTable,
    frame_of: HashMap<FrameKey, u32>,
    stacks: StackTable,
    stack_of: HashMap<(u32, Option<State>), u32>,
    /// For each node that has a stack, its inline depth.
    depths: HashMap<u32, u32>,
}

impl<'a> Stacks<'a> {
    pub(super) fn new(profile: &'a Profile) -> Self {
        Stacks {
            profile,
            functions: functions(&profile.frames),
            strings: Strings::default(),
            files: Vec::new(),
            file_of: HashMap::new(),
            modules: Modules::default(),
            funcs: FuncTable::default(),
            func_of: HashMap::new(),
            frames: FrameTable::default(),
            frame_of: HashMap::new(),
            stacks: StackTable::default(),
            stack_of: HashMap::new(),
            depths: HashMap::new(),
        }
    }

    /// The stack of a node in this state; those of its callers are added before it.
    pub(super) fn number(&mut self, node: u32, doing: Activity) -> Option<u32> {
        let functions = self.of_functions(node);
        match ending(self.profile, node, doing) {
            None => functions,
            Some(ending) => {
                let key = (node, Some(ending));
                if let Some(stack) = self.stack_of.get(&key) {
                    return Some(*stack);
                }
                let frame = self.frame(FrameKey::Ending(ending));
                Some(self.push(key, frame, functions))
            }
        }
    }

    fn of_functions(&mut self, node: u32) -> Option<u32> {
        let mut new = Vec::new();
        let (mut at, mut stack, mut depth) = (Some(node), None, 0);
        while let Some(node) = at {
            if let Some(known) = self.stack_of.get(&(node, None)) {
                stack = Some(*known);
                depth = self.depths.get(&node).copied().unwrap_or(0);
                break;
            }
            let Some(callers) = self.profile.nodes.get(node as usize) else { break };
            new.push(node);
            at = callers.caller.filter(|caller| *caller < node);
        }
        for node in new.into_iter().rev() {
            let frame = self.profile.nodes[node as usize].frame;
            let Some(place) = self.profile.frames.get(frame as usize) else { continue };
            depth = if place.inlined { depth + 1 } else { 0 };
            let number = self.frame(FrameKey::Frame(frame, depth));
            stack = Some(self.push((node, None), number, stack));
            self.depths.insert(node, depth);
        }
        stack
    }

    fn push(&mut self, key: (u32, Option<State>), frame: u32, prefix: Option<u32>) -> u32 {
        let number = self.stacks.length;
        self.stacks.frame.push(frame);
        self.stacks.prefix.push(prefix);
        self.stacks.length += 1;
        self.stack_of.insert(key, number);
        number
    }

    fn frame(&mut self, key: FrameKey) -> u32 {
        if let Some(number) = self.frame_of.get(&key) {
            return *number;
        }
        let (func, category, address, line, depth) = match key {
            FrameKey::Frame(index, depth) => {
                let frame = &self.profile.frames[index as usize];
                let line = frame.source.as_ref().map(|(_, line)| *line).filter(|line| *line > 0);
                let category = match frame.language {
                    Language::Kernel => (KERNEL, 0),
                    Language::Native => (USER, 1),
                    Language::Python => (USER, 2),
                    Language::Jit => (USER, 3),
                };
                // The format counts from the start of a library, in 32 bits.
                let native = frame.language == Language::Native;
                let address =
                    frame.address.filter(|_| native).and_then(|address| u32::try_from(address).ok());
                let func = self.func(self.functions[index as usize]);
                (func, category, address.map_or(-1, i64::from), line, depth)
            }
            FrameKey::Ending(state) => {
                let name = self.strings.number(&ending_name(state));
                let func = self.push_func(name, -1, None, None);
                let waits = State::ALL.iter().position(|other| *other == state).map_or(0, |index| index + 1);
                let category = if state.on_cpu() { (KERNEL, 0) } else { (WAITING, waits) };
                (func, category, -1, None, 0)
            }
        };
        let table = &mut self.frames;
        let number = table.length;
        table.address.push(address);
        table.inline_depth.push(depth);
        table.category.push(category.0);
        table.subcategory.push(category.1);
        table.func.push(func);
        table.native_symbol.push(None);
        table.inner_window_id.push(None);
        table.line.push(line);
        table.column.push(None);
        table.length += 1;
        self.frame_of.insert(key, number);
        number
    }

    /// The function of the frame at a position in the profile.
    fn func(&mut self, frame: u32) -> u32 {
        if let Some(number) = self.func_of.get(&frame) {
            return *number;
        }
        let place = &self.profile.frames[frame as usize];
        let name = self.strings.number(&function_name(self.profile, frame));
        let source = place.source.as_ref().map(|(file, _)| file.as_str()).filter(|file| !file.is_empty());
        let source = source.map(|file| {
            let name = self.strings.number(file);
            *self.file_of.entry(name).or_insert_with(|| {
                self.files.push(name);
                self.files.len() as u32 - 1
            })
        });
        let first = Some(place.first_line).filter(|line| *line > 0 && source.is_some());
        let module = self.modules.number(&place.module);
        let number = self.push_func(name, module, source, first);
        self.func_of.insert(frame, number);
        number
    }

    fn push_func(&mut self, name: u32, module: i64, source: Option<u32>, first_line: Option<u32>) -> u32 {
        let table = &mut self.funcs;
        table.name.push(name);
        table.is_js.push(false);
        table.relevant_for_js.push(false);
        table.resource.push(module);
        table.source.push(source);
        table.line_number.push(first_line);
        table.column_number.push(None);
        table.length += 1;
        table.length - 1
    }

    /// The libraries, and the tables that threads share.
    pub(super) fn finish(mut self) -> (Value, Value) {
        let lib = |name: &String| {
            json!({
                "arch": "", "name": name, "path": name, "debugName": name, "debugPath": name, "breakpadId": "",
                "codeId": null
            })
        };
        let libs: Vec<Value> = self.modules.names.iter().map(lib).collect();
        let count = libs.len();
        let names: Vec<u32> = self.modules.names.iter().map(|name| self.strings.number(name)).collect();
        let shared = json!({
            "stackTable": self.stacks,
            "frameTable": self.frames,
            "funcTable": self.funcs,
            "resourceTable": {
                "length": count,
                "lib": (0..count).collect::<Vec<_>>(),
                "name": names,
                "host": vec![Value::Null; count],
                "type": vec![1; count],
            },
            "nativeSymbols": {"libIndex": [], "address": [], "name": [], "functionSize": [], "length": 0},
            "sources": {"length": self.files.len(), "id": vec![Value::Null; self.files.len()], "filename": self.files},
            "stringArray": self.strings.all,
        });
        (Value::Array(libs), shared)
    }
}

impl Modules {
    /// A module's number; -1 for none.
    fn number(&mut self, name: &str) -> i64 {
        if name.is_empty() {
            return -1;
        }
        if let Some(number) = self.known.get(name) {
            return i64::from(*number);
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.known.insert(name.to_owned(), number);
        i64::from(number)
    }
}
