//! Where pieces of work begin and end that were asked for by name: the entry and the exits of a
//! function, or probes that a program has in its code.
//!
//! Found in the file before anything is recorded; `sources::bpf` attaches to the places.

use crate::function_code::{self, first, image};
use code::image::StaticProbe;
use code::{Function, Image};
use listing::{Flow, disassemble};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::untrusted_file;

/// The most places of one function or probe.
const PLACES_MAX: usize = 64;
/// What the names of two probes end in that have a piece of work between them.
const PAIRS: [(&str, &str); 4] = [("start", "done"), ("begin", "end"), ("entry", "return"), ("start", "end")];

/// Why there is nothing to attach to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] function_code::Error),
    /// A goroutine goes on with a call on another thread.
    #[error("{path:?} is a Go program: its calls move between threads, and cannot be followed")]
    Go {
        /// The file.
        path: PathBuf,
    },
    /// It never returns, or in too many places, or its code cannot be read.
    #[error("{name:?} of {path:?} {why}")]
    NoEnds {
        /// The file.
        path: PathBuf,
        /// The function.
        name: String,
        /// Why.
        why: String,
    },
    /// It has no such probe.
    #[error("{path:?} has no probe {provider}:{name}{}", others(there))]
    NoProbe {
        /// The file.
        path: PathBuf,
        /// Whose probe.
        provider: String,
        /// Its name.
        name: String,
        /// The probes that it has, of this provider if there are any.
        there: Vec<String>,
    },
}

/// What runs at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    CallBegins,
    CallEnds,
    OperationBegins,
    OperationEnds,
    /// Where one operation ends and the next begins.
    OperationTurns,
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnitPlace {
    pub(crate) at: At,
    /// File offsets: of the code, and of the counter that the kernel adds to while it listens.
    pub(crate) offset: u64,
    pub(crate) semaphore: Option<u64>,
}

/// All places of one function or probe.
#[derive(Debug, Clone)]
pub struct UnitProbes {
    pub(crate) file: Arc<File>,
    /// Where a piece of work ends, before where it begins: in this order they are attached.
    pub(crate) places: Vec<UnitPlace>,
}

impl UnitProbes {
    /// Those of the function of this name.
    ///
    /// # Errors
    /// The file has none, or several; or it cannot be seen where it ends.
    pub fn of_call(path: &Path, name: &str) -> Result<Self, Error> {
        let image = image(path)?;
        if image.section_address(".gopclntab").is_some() {
            return Err(Error::Go { path: path.to_owned() });
        }
        let function = function_code::only(&image, path, name)?;
        match of_function(&image, &function) {
            Ok(places) => Self::of(path, places),
            Err(why) => Err(Error::NoEnds { path: path.to_owned(), name: function.name, why }),
        }
    }

    /// Those of a probe: from `NAME__start` to `NAME__done` (and other such pairs) where there are
    /// two, else from one probe `NAME` to the next.
    ///
    /// # Errors
    /// The file has none.
    pub fn of_operation(path: &Path, provider: &str, name: &str) -> Result<Self, Error> {
        let image = image(path)?;
        let all = image.static_probes();
        match of_probes(&image, &all, provider, name) {
            Some(places) => Self::of(path, places),
            None => Err(Error::NoProbe {
                path: path.to_owned(),
                provider: provider.to_owned(),
                name: name.to_owned(),
                there: there(&all, provider),
            }),
        }
    }

    fn of(path: &Path, places: Vec<UnitPlace>) -> Result<Self, Error> {
        let unreadable = |error| function_code::Error::Unreadable(path.to_owned(), error);
        Ok(Self { file: Arc::new(untrusted_file::open(path).map_err(unreadable)?), places })
    }
}

/// The entry of a function, and where it is left: by a return, or by a jump to another function,
/// which returns in its place. A jump to an address in a register may be one of a table, inside: it
/// counts where nothing else leaves.
fn of_function(image: &Image, function: &Function) -> Result<Vec<UnitPlace>, String> {
    let mut instructions = Vec::new();
    for part in function.ranges() {
        let code = image.code(part).map_err(|error| format!("has no code: {error}"))?;
        instructions.extend(disassemble(&code, part.start, image.arch()));
    }
    let is_outside = |to: u64| !function.ranges().any(|part| part.contains(&to));
    let leaves = |flow: Flow| match flow {
        Flow::Return => true,
        Flow::Jump { to } | Flow::Conditional { to } => is_outside(to),
        _ => false,
    };
    let mut ends: Vec<u64> =
        instructions.iter().filter(|one| leaves(one.kind)).map(|one| one.address).collect();
    if ends.is_empty() {
        let indirect = instructions.iter().filter(|one| one.kind == Flow::Indirect);
        ends = indirect.map(|one| one.address).collect();
    }
    match ends.len() {
        0 => return Err("never returns".to_owned()),
        1..PLACES_MAX => {}
        many => return Err(format!("returns in {many} places: {PLACES_MAX} are too many")),
    }
    let at = |address, at| {
        let offset = image.offset_of(address).ok_or("is not in its file as it is loaded")?;
        Ok(UnitPlace { at, offset, semaphore: None })
    };
    let ends = ends.into_iter().map(|end| at(end, At::CallEnds));
    ends.chain([at(function.code.start, At::CallBegins)]).collect()
}

fn of_probes(image: &Image, all: &[StaticProbe], provider: &str, name: &str) -> Option<Vec<UnitPlace>> {
    let places = |name: &str, at| {
        let named = all.iter().filter(|probe| (&*probe.provider, &*probe.name) == (provider, name));
        let place = |probe: &StaticProbe| {
            let semaphore = match probe.semaphore {
                Some(address) => Some(image.offset_of(address)?),
                None => None,
            };
            Some(UnitPlace { at, offset: image.offset_of(probe.address)?, semaphore })
        };
        Some(named.take(PLACES_MAX).filter_map(place).collect()).filter(|found: &Vec<_>| !found.is_empty())
    };
    let pair = PAIRS.iter().find_map(|(begin, end)| {
        let ends = places(&format!("{name}__{end}"), At::OperationEnds)?;
        let begins = places(&format!("{name}__{begin}"), At::OperationBegins)?;
        Some([ends, begins].concat())
    });
    pair.or_else(|| places(name, At::OperationTurns))
}

/// The names of probes, those of this provider if there are any.
fn there(all: &[StaticProbe], provider: &str) -> Vec<String> {
    let of = |only: bool| {
        let mut names: Vec<String> = all
            .iter()
            .filter(|probe| !only || probe.provider == provider)
            .map(|probe| format!("{}:{}", probe.provider, probe.name))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let own = of(true);
    if own.is_empty() { of(false) } else { own }
}

fn others(there: &[String]) -> String {
    match there {
        [] => ", and no other".to_owned(),
        names => format!("; it has {}", first(names)),
    }
}
