//! Source lines and inlined functions, from DWARF.

use std::sync::Arc;
use std::time::Instant;

use addr2line::Context;
use model::recording::Function;

use super::demangle::demangled;
use crate::bytes::Bytes;
use crate::elf::Elf;
use crate::inflate;
use crate::window::Window;

/// Functions inlined into each other at one place; more are cut.
const INLINED_MAX: usize = 64;

/// The sections that are not looked into.
const UNUSED: [&str; 7] = [
    ".debug_macinfo",
    ".debug_macro",
    ".debug_types",
    ".debug_loc",
    ".debug_loclists",
    ".debug_names",
    ".debug_pubnames",
];

/// The debug information of a file. Units are parsed when an address in them is asked for.
pub(crate) struct Lines {
    context: Context<Window>,
    /// Everything that is read: the file and its decompressed sections.
    sources: Vec<Arc<Bytes>>,
}

impl Lines {
    /// Indexes the units of a file: about 10 µs each. None when it has none, they are damaged, or the deadline has
    /// passed meanwhile.
    pub(crate) fn new(bytes: &Arc<Bytes>, elf: &Elf, deadline: Instant) -> Option<Lines> {
        elf.section(b".debug_info")?;
        let mut sources = vec![Arc::clone(bytes)];
        let load = |id: gimli::SectionId| -> Result<Window, gimli::Error> {
            let wanted = Some(id.name()).filter(|name| !UNUSED.contains(name));
            let section = wanted.and_then(|name| elf.section(name.as_bytes()));
            let window = section.and_then(|section| inflate::section(bytes, section));
            let window = window.unwrap_or_else(|| Window::new(bytes, 0, 0));
            window.bytes().set_deadline(Some(deadline));
            sources.push(Arc::clone(window.bytes()));
            Ok(window)
        };
        let dwarf = gimli::Dwarf::load(load).ok()?;
        let context = Context::from_dwarf(dwarf).ok()?;
        Some(Lines { context, sources })
    }

    /// Whether something could not be read because the deadline had passed.
    pub(crate) fn expired(&self) -> bool {
        self.sources.iter().any(|source| source.expired())
    }

    /// The functions at an address, the innermost first; empty when they are not known.
    pub(crate) fn at(&self, address: u64) -> Vec<Function> {
        let mut functions = Vec::new();
        if address == u64::MAX {
            return functions; // addr2line 0.27 counts on, and overflows
        }
        let Ok(mut frames) = self.context.find_frames(address).skip_all_loads() else { return functions };
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.and_then(|function| Some(demangled(&function.raw_name().ok()?)));
            let source = frame.location.and_then(|place| Some((place.file?.to_owned(), place.line.unwrap_or(0))));
            functions.push(Function { name, source, inlined: true });
            if functions.len() >= INLINED_MAX {
                break;
            }
        }
        if let Some(outermost) = functions.last_mut() {
            outermost.inlined = false;
        }
        functions
    }
}
