//! Symbolization of code locations: functions, lines, and inlined functions.
//!
//! First every location gets its name from symbol tables, which is quick; then source lines and
//! inlined functions are looked up, file by file, until the time budget is used.

pub(crate) mod debug_file;
mod entries;
pub(crate) mod go;
mod inlined;
pub(crate) mod lines;
mod plt;
mod rows;
mod table;
mod units;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use model::recording::Function;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cfi::Cfi;
use crate::files::{FileId, Module};
use crate::image::Image;
use crate::inflate;
use crate::jit::UnreadNames;
use crate::name;
use crate::parallel;
use crate::processes::Processes;
use crate::unwind::RawFrame;
use lines::LineLookup;

/// The names of code locations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// For each requested location, in order: the function and those inlined into it, the innermost
    /// first. Never empty; where there is no symbol, its only function is named by the file and the
    /// function's first address, or has no name where that is unknown.
    pub functions: Vec<Vec<Function>>,
    /// The locations (indexes into `functions`) whose lines, inlined functions or even names may be
    /// missing because time ran out.
    pub unfinished: Vec<usize>,
    /// Files with names of code that runtimes made, which were not read, or not whole.
    pub unread: Vec<UnreadNames>,
}

impl Processes {
    /// Looks up the names of locations, in order. Returns soon after `budget`, with what it has
    /// found: names of all files come before lines of any.
    ///
    /// Symbol names are demangled, but untrusted until escaped.
    pub fn names(&self, places: &[RawFrame], budget: Duration) -> Names {
        self.names_by_weight(places, |_| u32::MAX, budget)
    }

    /// As [`names`](Self::names), where `weight` is the number of stack frames at the location with
    /// this index. Decompressing debug information takes by far the longest: it is done for files
    /// with 20 frames or more.
    pub fn names_by_weight(
        &self,
        places: &[RawFrame],
        weight: impl Fn(usize) -> u32,
        budget: Duration,
    ) -> Names {
        let deadline = Instant::now().checked_add(budget).unwrap_or_else(far);
        let unnamed = || vec![Function { name: None, source: None, inlined: false }];
        let mut names = Names { functions: places.iter().map(|_| unnamed()).collect(), ..Names::default() };
        let mut files: Vec<(FileId, Vec<usize>)> = Vec::new();
        let mut order: FxHashMap<FileId, usize> = FxHashMap::default();
        for (position, place) in places.iter().enumerate() {
            let at = *order.entry(place.file).or_insert_with(|| {
                files.push((place.file, Vec::new()));
                files.len() - 1
            });
            files[at].1.push(position);
        }
        let mut of_modules = Vec::new();
        for (file, positions) in &files {
            match self.files.module(*file) {
                Some(module) => {
                    let frames = positions.iter().map(|position| weight(*position));
                    let frames = frames.fold(0, u32::saturating_add);
                    of_modules.push(OfModule { file: *file, module, positions, frames });
                }
                None => self.by_runtime(*file, places, positions, &mut names),
            }
        }
        // What stacks were unwound with; and of each file in turn what it was searched for: all
        // tables of all files of a host would be most of dwell's memory.
        of_modules.iter().for_each(|of| of.module.forget_pages());
        let symbols = parallel::map(&of_modules, |of| by_symbol(of, places, deadline));
        for (of, symbols) in of_modules.iter().zip(&symbols) {
            for (position, name) in of.positions.iter().zip(&symbols.names) {
                names.functions[*position][0].name.clone_from(name);
            }
        }
        let room = AtomicUsize::new(lines::TEXT_MAX);
        let lines = parallel::map(&of_modules, |of| by_line(of, places, deadline, &room));
        for ((of, symbols), lines) in of_modules.iter().zip(&symbols).zip(lines) {
            lines.add_to(of, places, &mut names);
            let path = self.files.path(of.file);
            by_start(of.module, path, places, of.positions, &mut names.functions);
            if !symbols.all {
                names.unfinished.extend(of.positions);
            }
        }
        names.unfinished.sort_unstable();
        names.unfinished.dedup();
        names
    }

    /// Names that a runtime wrote of code that it made.
    fn by_runtime(&self, file: FileId, places: &[RawFrame], positions: &[usize], names: &mut Names) {
        self.jits.with_names(file, self.dump(file), |found| {
            for position in positions {
                let name = found.named.of(places[*position].address);
                names.functions[*position][0].name = name.map(str::to_owned);
            }
            names.unread.extend(found.unread.iter().cloned());
        });
    }
}

/// The least number of frames in a file for which its compressed debug information is unpacked.
const UNPACKED_FROM: u32 = 20;

/// A deadline that is never reached.
fn far() -> Instant {
    Instant::now() + Duration::from_secs(1 << 30)
}

/// The locations of a file, by their indexes, and how many stack frames are at these.
struct OfModule<'a> {
    file: FileId,
    module: &'a Module,
    positions: &'a [usize],
    frames: u32,
}

/// The names of a file's locations, in their order.
struct BySymbol {
    names: Vec<Option<String>>,
    /// Whether the time sufficed.
    all: bool,
}

/// Names from symbol tables: the file's own, then its debug file's.
fn by_symbol(of: &OfModule<'_>, places: &[RawFrame], deadline: Instant) -> BySymbol {
    let address = |position: &usize| places[*position].address;
    let mut addresses: Vec<u64> = of.positions.iter().map(address).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let mut raw = vec![None; addresses.len()];
    let mut all = true;
    for image in of.module.debug.iter().chain([&of.module.image]) {
        image.bytes().set_deadline(Some(deadline));
        table::name(image, &addresses, &mut raw);
        go::name(image, &addresses, &mut raw);
        plt::name(image, &addresses, &mut raw);
        if raw.iter().any(Option::is_none)
            && let Some(section) = image.section(b".gnu_debugdata")
            && let Some(packed) = inflate::packed_file(image, section)
        {
            let packed = Arc::new(packed);
            packed.set_deadline(Some(deadline));
            let _ = Image::read(&packed).map(|image| table::name(&image, &addresses, &mut raw));
            all &= !packed.expired();
        }
        all &= !image.bytes().expired();
        image.bytes().set_deadline(None);
    }
    let names: Vec<Option<String>> = raw.into_iter().map(|raw| raw.as_deref().map(demangled)).collect();
    let name = |position: &usize| names[addresses.binary_search(&address(position)).ok()?].clone();
    of.module.forget_pages();
    BySymbol { names: of.positions.iter().map(name).collect(), all }
}

/// A demangled symbol; a PLT stub keeps its suffix.
fn demangled(raw: &str) -> String {
    match raw.strip_suffix(plt::MARK) {
        Some(raw) => name::demangled(raw) + plt::MARK,
        None => name::demangled(raw),
    }
}

/// Without a symbol, the function's first address from call frame information is the name, so that
/// all locations of a function have the same name.
fn by_start(
    module: &Module,
    path: &str,
    places: &[RawFrame],
    positions: &[usize],
    functions: &mut [Vec<Function>],
) {
    let unnamed = |position: &&usize| functions[**position].last().is_some_and(|it| it.name.is_none());
    let unnamed: Vec<usize> = positions.iter().filter(unnamed).copied().collect();
    if unnamed.is_empty() {
        return;
    }
    let cfi = Cfi::new(&module.image);
    let file = path.rsplit('/').next().unwrap_or_default();
    for position in unnamed {
        if let (Some(start), Some(function)) =
            (cfi.start(places[position].address), functions[position].last_mut())
        {
            function.name = Some(format!("{file}+{start:#x}"));
        }
    }
}

/// Lines and inlined functions of a file's locations.
fn by_line(of: &OfModule<'_>, places: &[RawFrame], deadline: Instant, room: &AtomicUsize) -> LineLookup {
    let image = of.module.debug.as_ref().unwrap_or(&of.module.image);
    let Some(section) = image.section(b".debug_info") else { return LineLookup::default() };
    if section.compressed() && of.frames < UNPACKED_FROM {
        return LineLookup::default();
    }
    let mut seen = FxHashSet::default();
    let addresses = of.positions.iter().map(|position| places[*position].address);
    let addresses: Vec<u64> = addresses.filter(|address| seen.insert(*address)).collect();
    let found = lines::find(image, &addresses, deadline, room);
    of.module.forget_pages();
    found
}

impl LineLookup {
    fn add_to(&self, of: &OfModule<'_>, places: &[RawFrame], names: &mut Names) {
        for position in of.positions {
            let address = places[*position].address;
            if let Some(functions) = self.functions.get(&address) {
                merge(&mut names.functions[*position], functions.clone());
            }
            if self.unfinished.contains(&address) {
                names.unfinished.push(*position);
            }
        }
    }
}

/// Merges debug information; the name of the symbol table stays where it is the plainer one: `read`
/// for `__GI___libc_read` in debug information.
fn merge(known: &mut Vec<Function>, mut functions: Vec<Function>) {
    let Some(outermost) = functions.last_mut() else { return };
    let symbol = known.pop().and_then(|function| function.name);
    let underscores = |name: &String| name.bytes().take_while(|byte| *byte == b'_').count();
    let plainer =
        |symbol: &String| outermost.name.as_ref().is_none_or(|name| underscores(symbol) < underscores(name));
    if symbol.as_ref().is_some_and(plainer) {
        outermost.name = symbol;
    }
    *known = functions;
}

/// How many of some sorted addresses get a name or a line; for the tests of damaged files.
#[cfg(any(test, fuzzing))]
pub(crate) fn everything(image: &Image, addresses: &[u64], deadline: Instant) -> usize {
    let mut raw = vec![None; addresses.len()];
    table::name(image, addresses, &mut raw);
    go::name(image, addresses, &mut raw);
    let named =
        raw.iter().flatten().map(|name| name::demangled(name)).filter(|name| !name.is_empty()).count();
    let room = AtomicUsize::new(lines::TEXT_MAX);
    let lines = lines::find(image, addresses, deadline, &room).functions.len();
    assert!(Instant::now() < deadline + Duration::from_secs(1), "it ran on");
    named + lines
}
