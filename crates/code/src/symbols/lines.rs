//! Source lines and inlined functions, from DWARF.
//!
//! Debug information can be larger than memory, and most of it is of units (source files) without
//! samples. So units are found first, by `.debug_aranges` where it exists, and then only the needed
//! ones, and those that they refer to, are passed to the parser.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use addr2line::Context;
use gimli::{DebugInfo, Dwarf, Reader};
use model::recording::Function;
use rustc_hash::{FxHashMap, FxHashSet};

use super::units::Units;
use crate::bytes::{Bytes, Mask};
use crate::image::{Image, Section};
use crate::inflate;
use crate::name::demangled;
use crate::parallel;
use crate::window::Window;

/// The limit of functions inlined into each other; more are cut.
const INLINED_MAX: usize = 64;

/// How often referenced units are added: each time resolves one level of inlining.
const ROUNDS_MAX: usize = 24;

/// Length of a mask: the least number of bytes that can be hidden.
const HIDING: usize = size_of::<Mask>();

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

/// Looks up addresses (each once, in order) in a file's debug information.
pub(crate) fn find(image: &Image, addresses: &[u64], deadline: Instant) -> LineLookup {
    let mut found = LineLookup::default();
    if image.section(b".debug_info").is_none() {
        return found;
    }
    let sections = Sections::load(image, deadline);
    // Half of the time is for finding units, so that the rest is left for parsing.
    let now = Instant::now();
    sections.set_deadline(Some(now + deadline.saturating_duration_since(now) / 2));
    let (units, walked) = Units::find(&sections.dwarf(sections.info()), addresses);
    let complete = walked && !sections.expired();
    sections.set_deadline(Some(deadline));
    if !complete {
        found.unfinished.extend(addresses.iter().filter(|address| units.of(**address).is_empty()));
    }
    let batches = units.batches(addresses, sections.info().len());
    let look = |addresses: &Vec<u64>| {
        let mut found = LineLookup::default();
        batch(&sections, &units, addresses.clone(), deadline, &mut found);
        found
    };
    parallel::map(&batches, look).into_iter().for_each(|other| found.add(other));
    sections.set_deadline(None);
    found
}

impl LineLookup {
    fn add(&mut self, other: LineLookup) {
        self.functions.extend(other.functions);
        self.unfinished.extend(other.unfinished);
    }
}

/// Looks up the addresses of some units, and forgets what it parsed.
fn batch(sections: &Sections, units: &Units, mut left: Vec<u64>, deadline: Instant, found: &mut LineLookup) {
    let mut referred = BTreeSet::new();
    for _ in 0..ROUNDS_MAX {
        if sections.expired() || Instant::now() >= deadline {
            found.unfinished.extend(left);
            return;
        }
        let mut wanted = referred.clone();
        wanted.extend(left.iter().flat_map(|address| units.of(*address)).map(|(_, unit)| *unit));
        let context = sections.only(units, &wanted);
        let before = referred.len();
        left.retain(|address| {
            if sections.expired() || Instant::now() >= deadline {
                found.unfinished.insert(*address);
                return false;
            }
            let functions = context.as_ref().map_or(Ok(Vec::new()), |context| at(context, *address));
            match functions {
                // The inlined function is described in another unit, which is needed too.
                Err(gimli::Error::NoEntryAtGivenOffset(offset)) => {
                    let unit = units.around(offset).filter(|unit| !wanted.contains(unit));
                    referred.extend(unit);
                    return unit.is_some();
                }
                Err(_) if sections.expired() => drop(found.unfinished.insert(*address)),
                Err(_) => {}
                Ok(functions) if functions.is_empty() => {}
                Ok(functions) => drop(found.functions.insert(*address, functions)),
            }
            false
        });
        if left.is_empty() || referred.len() == before {
            break;
        }
    }
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

    fn info(&self) -> Window {
        self.get(gimli::SectionId::DebugInfo.name())
    }

    /// All of it, with `info` for the units.
    fn dwarf(&self, info: Window) -> Dwarf<Window> {
        let Ok(mut dwarf) = Dwarf::load(|id| Ok::<_, Infallible>(self.get(id.name())));
        dwarf.debug_info = DebugInfo::from(info);
        dwarf
    }

    /// Some of the units, at their offsets: each run of other units is hidden by the header of one
    /// long type unit, which is not parsed. So references between units stay valid.
    fn only(&self, units: &Units, wanted: &BTreeSet<usize>) -> Option<Context<Window>> {
        let info = self.info();
        let mut masks = Vec::new();
        let mut from = 0;
        for unit in wanted.iter().copied().chain([info.len()]) {
            let hidden = unit.saturating_sub(from);
            if hidden > HIDING {
                masks.push((from as u64, mask(hidden)));
            }
            from = units.starts.partition_point(|start| *start <= unit);
            from = units.starts.get(from).copied().unwrap_or(info.len());
        }
        let len = info.len() as u64;
        let masked = Arc::new(Bytes::masked(info.bytes(), info.start(), len, masks));
        let mut dwarf = self.dwarf(Window::whole(&masked));
        dwarf.debug_aranges = self.nothing.clone().into();
        Context::from_dwarf(dwarf).ok()
    }
}

/// The header of a type unit that is `len` bytes long in all: DWARF 5, 64-bit format.
fn mask(len: usize) -> Mask {
    let mut mask = [0; HIDING];
    mask[..4].fill(0xff);
    mask[4..12].copy_from_slice(&(len as u64 - 12).to_le_bytes());
    mask[12..16].copy_from_slice(&[5, 0, 2, 8]);
    mask
}

/// The functions at an address, the innermost first; empty when they are not known.
fn at(context: &Context<Window>, address: u64) -> gimli::Result<Vec<Function>> {
    let mut functions = Vec::new();
    if address == u64::MAX {
        return Ok(functions); // addr2line 0.27 keeps counting, and overflows
    }
    let mut frames = context.find_frames(address).skip_all_loads()?;
    while let Some(frame) = frames.next()? {
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
    Ok(functions)
}
