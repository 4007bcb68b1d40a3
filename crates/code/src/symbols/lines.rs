//! Source lines and inlined functions, from DWARF.
//!
//! Debug information can be larger than memory, and most of it is of units (source files) without
//! samples. So units are found first, by `.debug_aranges` where it exists, and then only the needed
//! ones, and entries that they refer to, are read: lines by `rows`, functions by `inlined`.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use gimli::{DebugInfoOffset, Dwarf};
use model::recording::Function;
use rustc_hash::{FxHashMap, FxHashSet};

use super::entries::{self, Clock};
use super::inlined::{Calls, Names};
use super::rows::{self, Rows};
use super::units::Units;
use crate::image::{Image, Section};
use crate::inflate;
use crate::parallel;
use crate::window::Window;

/// Sections that are not read.
const UNUSED: [&str; 6] =
    [".debug_macinfo", ".debug_macro", ".debug_types", ".debug_loc", ".debug_loclists", ".debug_names"];

/// The results for some addresses.
#[derive(Default)]
pub(crate) struct LineLookup {
    /// The functions at an address, the innermost first. Missing for addresses without debug
    /// information.
    pub(crate) functions: FxHashMap<u64, Vec<Function>>,
    /// Addresses for which time ran out.
    pub(crate) unfinished: FxHashSet<u64>,
}

/// How many bytes of text are made of the debug information of all files; programs with a million
/// functions take a tenth.
pub(crate) const TEXT_MAX: usize = 128 << 20;

/// Looks up addresses (each once, in order) in a file's debug information. `room` is what is left
/// of [`TEXT_MAX`].
pub(crate) fn find(image: &Image, addresses: &[u64], deadline: Instant, room: &AtomicUsize) -> LineLookup {
    if image.section(b".debug_info").is_none() {
        return LineLookup::default();
    }
    of_sections(&Sections::load(image, deadline), addresses, deadline, room)
}

fn of_sections(sections: &Sections, addresses: &[u64], deadline: Instant, room: &AtomicUsize) -> LineLookup {
    let mut found = LineLookup::default();
    // Half of the time is for finding units, so that the rest is left for parsing.
    let now = Instant::now();
    let half = now + deadline.saturating_duration_since(now) / 2;
    sections.set_deadline(Some(half));
    let dwarf = sections.dwarf();
    let (units, walked) = Units::find(&dwarf, addresses, half);
    let complete = walked && !sections.expired();
    sections.set_deadline(Some(deadline));
    if !complete {
        found.unfinished.extend(addresses.iter().filter(|address| units.of(**address).is_empty()));
    }
    let look = |claimed: &_| unit(&dwarf, &units, claimed, deadline, room).unwrap_or_default();
    parallel::map(&units.claimed(), look).into_iter().for_each(|other| found.add(other));
    sections.set_deadline(None);
    found
}

impl LineLookup {
    /// Adds what another unit says: of what a function is known, the first unit's counts.
    fn add(&mut self, other: LineLookup) {
        for (address, functions) in other.functions {
            let known = self.functions.get(&address);
            if known.is_none_or(|known| known.iter().all(|function| function.name.is_none())) {
                self.functions.insert(address, functions);
            }
        }
        self.unfinished.extend(other.unfinished);
    }
}

/// Looks up the addresses of a unit, which are sorted.
fn unit(
    dwarf: &Dwarf<Window>,
    units: &Units,
    (start, wanted): &(usize, Vec<u64>),
    deadline: Instant,
    room: &AtomicUsize,
) -> gimli::Result<LineLookup> {
    let header = dwarf.unit_header(DebugInfoOffset(*start))?;
    let mut unit = entries::unit(dwarf, header)?.0;
    let mut clock = Clock::new(deadline);
    let (mut rows, mut calls) = (Rows::default(), Calls::default());
    let mut program = unit.line_program.take();
    // Of a damaged unit there is what comes before the damage.
    if let Some(program) = &mut program {
        let _ = rows::find(program, wanted, &mut rows, &mut clock);
    }
    let unit = Arc::new(unit);
    let _ = calls.find(&mut Names::new(dwarf, units), &unit, wanted, &mut clock);
    let mut paths: FxHashMap<u64, Option<String>> = FxHashMap::default();
    let mut source = |(file, line): (u64, u32)| {
        let header = program.as_ref()?.header();
        let path = paths.entry(file).or_insert_with(|| rows::path(dwarf, &unit, header, file));
        Some((path.clone()?, line))
    };
    let mut found = LineLookup::default();
    if Instant::now() >= deadline {
        found.unfinished.extend(wanted);
    }
    for address in wanted {
        let mut here = rows.get(address).copied().and_then(&mut source);
        let within = calls.at.get(address).map_or(&[][..], Vec::as_slice);
        let mut functions = Vec::with_capacity(within.len().max(1));
        for (depth, call) in within.iter().map(|call| &calls.all[*call]).enumerate().rev() {
            functions.push(Function { name: call.name.clone(), source: here, inlined: depth > 0 });
            here = call.file.and_then(|file| source((file, call.line)));
        }
        if functions.is_empty() && here.is_some() {
            functions.push(Function { name: None, source: here, inlined: false });
        }
        let text: usize = functions.iter().map(text).sum();
        if room.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(text)).is_err() {
            found.unfinished.insert(*address);
        } else if !functions.is_empty() {
            found.functions.insert(*address, functions);
        }
    }
    Ok(found)
}

/// How many bytes of text a function takes.
fn text(function: &Function) -> usize {
    let source = function.source.as_ref().map_or(0, |(path, _)| path.len());
    source + function.name.as_ref().map_or(0, String::len)
}

/// The sections of debug information, decompressed.
struct Sections {
    all: FxHashMap<&'static str, Window>,
    nothing: Window,
}

impl Sections {
    fn load(image: &Image, deadline: Instant) -> Sections {
        let bytes = image.bytes();
        bytes.set_deadline(Some(deadline));
        let mut wanted = Vec::new();
        let _ = Dwarf::<Window>::load(|id| -> Result<Window, gimli::Error> {
            let section = image.section(id.name().as_bytes());
            wanted.extend(section.filter(|_| !UNUSED.contains(&id.name())).map(|it| (id.name(), it)));
            Ok(Window::new(bytes, 0, 0))
        });
        // Compressed ones take time.
        let read =
            |(name, section): &(&'static str, &Section)| Some((*name, inflate::section(image, section)?));
        let all = parallel::map(&wanted, read).into_iter().flatten().collect();
        Sections { all, nothing: Window::new(bytes, 0, 0) }
    }

    fn set_deadline(&self, deadline: Option<Instant>) {
        self.nothing.bytes().set_deadline(deadline);
        self.all.values().for_each(|window| window.bytes().set_deadline(deadline));
    }

    /// Whether something could not be read because the deadline had passed.
    fn expired(&self) -> bool {
        self.nothing.bytes().expired() || self.all.values().any(|window| window.bytes().expired())
    }

    fn get(&self, name: &str) -> Window {
        self.all.get(name).unwrap_or(&self.nothing).clone()
    }

    fn dwarf(&self) -> Dwarf<Window> {
        let Ok(dwarf) = Dwarf::load(|id| Ok::<_, Infallible>(self.get(id.name())));
        dwarf
    }
}

/// What sections with these contents say of some addresses; for fuzzing.
#[cfg(any(test, fuzzing))]
pub(crate) fn find_in(contents: &[(&'static str, &[u8])], addresses: &[u64], deadline: Instant) -> usize {
    let of = |content: &[u8]| Window::whole(&Arc::new(crate::bytes::Bytes::of_memory(content.to_vec())));
    let all = contents.iter().map(|(name, content)| (*name, of(content))).collect();
    let sections = Sections { all, nothing: of(&[]) };
    of_sections(&sections, addresses, deadline, &AtomicUsize::new(TEXT_MAX)).functions.len()
}
