//! Where pieces of work begin and end that were asked for by name: the entry and the exits of a
//! function, or probes that a program has in its code.
//!
//! Found in the file before anything is recorded; `sources::bpf` attaches to the places. What is
//! attached stands in every process that maps the file, and a place that is no instruction would
//! change what it computes. So the file that is read is the one that is attached to, and only
//! instructions count that control reaches.

use crate::function_code::{self, first};
use code::image::StaticProbe;
use code::{Function, Image};
use listing::{Flow, Instruction, disassemble};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::untrusted_file;

/// The most places of one function or probe: the kernel takes a tenth of a second to detach one.
const PLACES_MAX: usize = 16;
/// What the names of two probes end in that have a piece of work between them.
const PAIRS: [(&str, &str); 4] = [("start", "done"), ("begin", "end"), ("entry", "return"), ("start", "end")];

/// Why there is nothing to attach to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be used, or has no such function.
    #[error(transparent)]
    File(#[from] function_code::Error),
    /// A goroutine goes on with a call on another thread.
    #[error("{0:?} is a Go program: its calls move between threads, and cannot be followed")]
    Go(PathBuf),
    /// Where it ends cannot be told.
    #[error("{name} of {path:?} {why}")]
    NoEnds {
        /// The file.
        path: PathBuf,
        /// The function or probe.
        name: String,
        /// Why.
        why: String,
    },
    /// It has no such probe.
    #[error("{path:?} has no probe {name}{}", others(there))]
    NoProbe {
        /// The file.
        path: PathBuf,
        /// Whose probe, and its name: `shop:order`.
        name: String,
        /// The probes that it has, of this provider if there are any.
        there: Vec<String>,
    },
}

/// What runs at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    CallBegins,
    /// The same of a function that jumps to its own entry.
    LoopBegins,
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
    name: String,
}

impl UnitProbes {
    /// Those of the function of this name.
    ///
    /// # Errors
    /// The file has none, or several; or it cannot be told where it ends.
    pub fn of_call(path: &Path, name: &str) -> Result<Self, Error> {
        let (file, image) = opened(path)?;
        if image.section_address(".gopclntab").is_some() {
            return Err(Error::Go(path.to_owned()));
        }
        let function = function_code::only(image.named(name), path, name)?;
        let places = of_function(&image, &function);
        let of = function.name;
        let places = places.map_err(|why| Error::NoEnds { path: path.to_owned(), name: of.clone(), why })?;
        Ok(Self { file, places, name: of })
    }

    /// Those of a probe: from `NAME__start` to `NAME__done` (and other such pairs) where there are
    /// two, else from one probe `NAME` to the next.
    ///
    /// # Errors
    /// The file has none, or in too many places.
    pub fn of_operation(path: &Path, provider: &str, name: &str) -> Result<Self, Error> {
        let (file, image) = opened(path)?;
        let all = image.static_probes();
        let (path, full) = (path.to_owned(), format!("{provider}:{name}"));
        match of_probes(&image, &all, provider, name) {
            Ok(Some(places)) => Ok(Self { file, places, name: format!("usdt:{full}") }),
            Ok(None) => Err(Error::NoProbe { path, name: full, there: there(&all, provider) }),
            Err(why) => Err(Error::NoEnds { path, name: full, why }),
        }
    }

    /// The function or probe, in full. Untrusted until escaped.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The file, and what is read of it.
fn opened(path: &Path) -> Result<(Arc<File>, Image), function_code::Error> {
    let unreadable = |error| function_code::Error::Unreadable(path.to_owned(), error);
    let file = untrusted_file::open(path).map_err(unreadable)?;
    let image = Image::open(file.try_clone().map_err(unreadable)?);
    Ok((Arc::new(file), image.map_err(|error| function_code::Error::NoCode(path.to_owned(), error))?))
}

fn of_function(image: &Image, function: &Function) -> Result<Vec<UnitPlace>, String> {
    let Ends { entry, exits, comes_again } = ends(image, function)?;
    let place = |at| move |offset| UnitPlace { at, offset, semaphore: None };
    let begins = if comes_again { At::LoopBegins } else { At::CallBegins };
    Ok(exits.into_iter().map(place(At::CallEnds)).chain([place(begins)(entry)]).collect())
}

/// Where a function begins and where it is left, by file offsets.
pub(crate) struct Ends {
    pub(crate) entry: u64,
    pub(crate) exits: Vec<u64>,
    /// It jumps to its own entry: coming there is not always a call.
    comes_again: bool,
}

/// A function is left by a return, or by a jump to another function, which returns in its place.
///
/// A jump to an address in a register may be one of a table, inside: it counts where nothing else
/// leaves.
pub(crate) fn ends(image: &Image, function: &Function) -> Result<Ends, String> {
    let mut code = BTreeMap::new();
    for part in function.ranges() {
        let bytes = image.code(part).map_err(|error| format!("has no code: {error}"))?;
        let instructions = disassemble(&bytes, part.start, image.arch());
        code.extend(instructions.into_iter().map(|one| (one.address, one)));
    }
    let reached = reached(&code, function.code.start);
    let jumps_anywhere = reached.iter().any(|at| code[at].kind == Flow::Indirect);
    if jumps_anywhere && !function.sized {
        return Err("has no size in its symbol, and jumps to where only it knows".to_owned());
    }
    // What such a jump leads to is unknown, so all of its code counts.
    let counts = |one: &&Instruction| jumps_anywhere || reached.contains(&one.address);
    let all: Vec<(u64, Flow)> = code.values().filter(counts).map(|one| (one.address, one.kind)).collect();
    let is_outside = |to: u64| !function.ranges().any(|part| part.contains(&to));
    let is_entry = |to: u64| image.at(to).is_some_and(|other| other.code.start == to);
    if all.iter().any(|(_, flow)| matches!(*flow, Flow::Conditional { to } if is_outside(to) && is_entry(to)))
    {
        return Err("ends in a conditional jump to another function, at which it cannot be told".to_owned());
    }
    let where_it = |is: &dyn Fn(Flow) -> bool| -> Vec<u64> {
        all.iter().filter(|(_, flow)| is(*flow)).map(|(at, _)| *at).collect()
    };
    let mut exits =
        where_it(&|flow| flow == Flow::Return || matches!(flow, Flow::Jump { to } if is_outside(to)));
    if exits.is_empty() {
        exits = where_it(&|flow| flow == Flow::Indirect);
    }
    match exits.len() {
        0 => return Err("never returns".to_owned()),
        1..PLACES_MAX => {}
        many => return Err(format!("is left in {many} places, and {} are the most", PLACES_MAX - 1)),
    }
    let start = function.code.start;
    let comes_again = all
        .iter()
        .any(|(_, flow)| matches!(flow, Flow::Jump { to } | Flow::Conditional { to } if *to == start));
    let offset = |address| image.offset_of(address).ok_or("is not in its file as it is loaded".to_owned());
    let exits = exits.into_iter().map(offset).collect::<Result<_, _>>()?;
    Ok(Ends { entry: offset(start)?, exits, comes_again })
}

/// The addresses of the instructions that control comes to from `start` on, as far as jumps say
/// where they lead.
fn reached(code: &BTreeMap<u64, Instruction>, start: u64) -> BTreeSet<u64> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![start]);
    while let Some(at) = next.pop() {
        let Some(one) = code.get(&at).filter(|_| reached.insert(at)) else { continue };
        match one.kind {
            Flow::Plain | Flow::Call { .. } => next.push(one.end()),
            Flow::Conditional { to } => next.extend([one.end(), to]),
            Flow::Jump { to } => next.push(to),
            Flow::Return | Flow::Indirect | Flow::Trap => {}
        }
    }
    reached
}

fn of_probes(
    image: &Image,
    all: &[StaticProbe],
    provider: &str,
    name: &str,
) -> Result<Option<Vec<UnitPlace>>, String> {
    let named = |name: &str| -> Vec<&StaticProbe> {
        all.iter().filter(|probe| probe.provider == provider && probe.name == name).collect()
    };
    let pair = PAIRS.iter().find_map(|(begin, end)| {
        let ends = named(&format!("{name}__{end}"));
        let begins = named(&format!("{name}__{begin}"));
        (!ends.is_empty() && !begins.is_empty())
            .then(|| vec![(At::OperationEnds, ends), (At::OperationBegins, begins)])
    });
    let all = pair.unwrap_or_else(|| vec![(At::OperationTurns, named(name))]);
    let places: usize = all.iter().map(|(_, probes)| probes.len()).sum();
    if places > PLACES_MAX {
        return Err(format!("is in {places} places, and {PLACES_MAX} are the most"));
    }
    let offset = |address| image.offset_of(address).ok_or("is not in its file as it is loaded");
    let place = |at: At, probe: &StaticProbe| {
        let semaphore = probe.semaphore.map(offset).transpose()?;
        Ok(UnitPlace { at, offset: offset(probe.address)?, semaphore })
    };
    let places = all.into_iter().flat_map(|(at, probes)| probes.into_iter().map(move |probe| (at, probe)));
    let places: Vec<_> = places.map(|(at, probe)| place(at, probe)).collect::<Result<_, String>>()?;
    Ok(Some(places).filter(|places| !places.is_empty()))
}

/// The names of probes, those of this provider if there are any.
fn there(all: &[StaticProbe], provider: &str) -> Vec<String> {
    let of = |only: bool| {
        let probes = all.iter().filter(|probe| !only || probe.provider == provider);
        let names: BTreeSet<String> =
            probes.map(|probe| format!("{}:{}", probe.provider, probe.name)).collect();
        names.into_iter().collect::<Vec<_>>()
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
