//! A function's machine code and source lines, read from the files of the program.
//!
//! Crate `listing` adds samples and counts. The path of the file is what a program, or a recording,
//! says: it is opened with the rights of those who could have said so ([`Sources`]).

use crate::Sources;
use code::{Function, Image, Processes, RawFrame};
use listing::{Instruction, SourceLine, disassemble};
use model::run::Address;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::untrusted_file::{self, Opened};

/// The time limit for looking up source lines.
const LINES_WITHIN: Duration = Duration::from_secs(5);

/// Why a function cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It does not exist, or may not be read.
    #[error("cannot read {0:?}")]
    Unreadable(PathBuf, #[source] io::Error),
    /// A directory, a device, a pipe.
    #[error("cannot read {0:?}: it is not a file")]
    NotAFile(PathBuf),
    /// It is not an ELF file, or has no such code.
    #[error("cannot read code of {0:?}")]
    NoCode(PathBuf, #[source] code::image::Error),
    /// It has no such function: perhaps another file has.
    #[error("{0:?} has no function called {1:?}")]
    NoFunction(PathBuf, String),
    /// The name is not one function's.
    #[error("{} functions of {path:?} match {name:?}: {}", among.len(), first(among))]
    Several {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// Their names.
        among: Vec<String>,
    },
}

/// Names that are told where several match.
const TOLD: usize = 5;

/// The first of these names.
pub(crate) fn first(names: &[String]) -> String {
    let more = if names.len() > TOLD { ", …" } else { "" };
    format!("{}{more}", names[..names.len().min(TOLD)].join(", "))
}

/// The only one of the functions that were found in the file at `path` for `name`.
///
/// # Errors
/// There is none, or there are several.
pub fn only(mut found: Vec<Function>, path: &Path, name: &str) -> Result<Function, Error> {
    let (path, name) = (path.to_owned(), name.to_owned());
    match found.len() {
        0 => Err(Error::NoFunction(path, name)),
        1 => Ok(found.remove(0)),
        _ => {
            // Versions of one function have one name, and a symbol each.
            let names: BTreeSet<&str> = found.iter().map(|function| function.name.as_str()).collect();
            let by_name = names.len() == found.len();
            let among = found.into_iter().map(|of| if by_name { of.name } else { of.symbol }).collect();
            Err(Error::Several { path, name, among })
        }
    }
}

/// The code of one function.
#[derive(Debug)]
pub struct FunctionCode {
    /// All its instructions, cold parts included.
    pub instructions: Vec<Instruction>,
    /// Source lines by start address: those of the innermost function.
    pub lines: BTreeMap<u64, SourceLine>,
}

impl FunctionCode {
    /// Reads the code of a function of the file at `path`, and the lines of its `sources`.
    ///
    /// # Errors
    /// The file cannot be read, or has no such code.
    pub fn read(path: &Path, function: &Function, sources: &Sources) -> Result<Self, Error> {
        let image = image_for(path, sources)?;
        let mut instructions = Vec::new();
        for part in function.ranges() {
            let code = image.code(part).map_err(|error| Error::NoCode(path.to_owned(), error))?;
            instructions.extend(disassemble(&code, part.start, image.arch()));
        }
        let addresses: Vec<u64> = instructions.iter().map(|instruction| instruction.address).collect();
        Ok(Self { lines: lines(path, &addresses, sources), instructions })
    }
}

/// The image at `path`, which the person who started dwell named.
///
/// # Errors
/// It does not exist, is not a regular file, or is not an ELF file.
pub fn image(path: &Path) -> Result<Image, Error> {
    of_file(path, untrusted_file::open_any(path))
}

/// The image at `path`, which a program named.
///
/// # Errors
/// As [`image`], and that not all who could have named it may read it.
pub fn image_for(path: &Path, sources: &Sources) -> Result<Image, Error> {
    of_file(path, sources.open(path))
}

fn of_file(path: &Path, opened: io::Result<Opened>) -> Result<Image, Error> {
    let file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => Error::NotAFile(path.to_owned()),
        _ => Error::Unreadable(path.to_owned(), error),
    })?;
    Image::open(file).map_err(|error| Error::NoCode(path.to_owned(), error))
}

/// The function called `name` with most of the sampled time, and its file.
pub fn most_sampled<'a>(
    name: &str,
    addresses: &'a [Address],
    sources: &Sources,
) -> Option<(&'a str, Function)> {
    let mut best: Option<(u64, &str, Function)> = None;
    let modules: BTreeSet<&str> = addresses.iter().map(|at| at.module.as_str()).collect();
    for module in modules {
        // A file that has been removed, or is not one (`[vdso]`, `[jit]`), cannot be listed.
        let Ok(image) = image_for(Path::new(module), sources) else { continue };
        for function in image.find(name) {
            let inside = |at: &&Address| {
                at.module == module && function.ranges().any(|part| part.contains(&at.address))
            };
            let ns = addresses.iter().filter(inside).map(|at| at.ns).sum();
            if best.as_ref().is_none_or(|(most, _, _)| ns > *most) {
                best = Some((ns, module, function));
            }
        }
    }
    best.map(|(_, module, function)| (module, function))
}

/// The source line of each address that has one: that of the innermost function.
fn lines(path: &Path, addresses: &[u64], texts: &Sources) -> BTreeMap<u64, SourceLine> {
    let mut processes = Processes::new();
    let Some(file) = processes.file(path) else { return BTreeMap::new() };
    let frames: Vec<RawFrame> =
        addresses.iter().map(|address| RawFrame { file, address: *address }).collect();
    let names = processes.names(&frames, LINES_WITHIN);
    let mut sources: BTreeMap<String, Option<Vec<String>>> = BTreeMap::new();
    let mut lines = BTreeMap::new();
    for (address, functions) in addresses.iter().zip(names.functions) {
        let innermost = functions.into_iter().next().and_then(|function| function.source);
        let Some((file, line)) = innermost.filter(|(_, line)| *line > 0) else { continue };
        let source = sources
            .entry(file.clone())
            .or_insert_with(|| Some(texts.text(&file)?.text.lines().map(str::to_owned).collect()));
        let text = source.as_ref().and_then(|source| source.get(line as usize - 1).cloned());
        lines.insert(*address, SourceLine { file, line, text });
    }
    lines
}
