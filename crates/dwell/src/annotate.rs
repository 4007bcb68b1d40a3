//! A function's instructions with what was sampled or counted of them: the files read, the listing put together.

use crate::source;
use anyhow::{Context, bail};
use code::{Processes, RawFrame};
use listing::{Counts, Elf, Function, Sample, SourceLine, Subject, disassemble};
use model::run::Address;
use object::read::ReadCache;
use report::Look;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

/// How long lines may take to be looked up.
const LINES_WITHIN: Duration = Duration::from_secs(5);

/// The listing of the function called `name` that has most of the samples, as text.
///
/// # Errors
/// No sampled file has such a function, or it cannot be read.
pub(crate) fn sampled(name: &str, addresses: &[Address], look: Look) -> anyhow::Result<String> {
    let program = addresses
        .iter()
        .fold(Sample::default(), |sum, at| Sample { ns: sum.ns + at.ns, count: sum.count + at.samples });
    let mut best: Option<(u64, &str, Function)> = None;
    let modules: BTreeSet<&str> = addresses.iter().map(|at| at.module.as_str()).collect();
    for module in modules {
        // A file that is gone by now, or was never one (`[vdso]`, `[jit]`), has nothing to list.
        let Ok(file) = open(Path::new(module)) else { continue };
        let cache = ReadCache::new(file);
        let Ok(elf) = Elf::parse(&cache) else { continue };
        for function in elf.find(name) {
            let inside = |at: &&Address| {
                at.module == module && ranges(&function).any(|part| part.contains(&at.address))
            };
            let ns = addresses.iter().filter(inside).map(|at| at.ns).sum();
            if best.as_ref().is_none_or(|(most, _, _)| ns > *most) {
                best = Some((ns, module, function));
            }
        }
    }
    let Some((_, module, function)) = best else {
        bail!(
            "no file of which code ran has a function called {name:?}\ntry: a name from the table of functions"
        );
    };
    let of_module = addresses.iter().filter(|at| at.module == module);
    let samples = of_module.map(|at| (at.address, Sample { ns: at.ns, count: at.samples })).collect();
    let subject = Subject {
        name: function.name.clone(),
        module: module.to_owned(),
        program_ns: program.ns,
        program_samples: program.count,
    };
    text(Path::new(module), &function, subject, &samples, None, look)
}

/// The listing of one function of a file, as text.
///
/// # Errors
/// The file cannot be read, or has no such code.
pub(crate) fn text(
    path: &Path,
    function: &Function,
    subject: Subject,
    samples: &BTreeMap<u64, Sample>,
    counts: Option<&Counts>,
    look: Look,
) -> anyhow::Result<String> {
    let cache = ReadCache::new(open(path)?);
    let elf = Elf::parse(&cache).with_context(|| format!("cannot list code of {path:?}"))?;
    let mut instructions = Vec::new();
    for part in ranges(function) {
        let bytes = elf.code(part).with_context(|| format!("cannot list code of {path:?}"))?;
        instructions.extend(disassemble(bytes, part.start, elf.arch()));
    }
    let within = |address: &u64| ranges(function).any(|part| part.contains(address));
    let samples =
        samples.iter().filter(|(address, _)| within(address)).map(|(at, sample)| (*at, *sample)).collect();
    let addresses: Vec<u64> = instructions.iter().map(|instruction| instruction.address).collect();
    let lines = lines(path, &addresses);
    let listed = listing::listing(subject, &instructions, &samples, &lines, counts);
    Ok(report::listing::listing(&listed, look))
}

/// Where the function's code is.
pub(crate) fn ranges(function: &Function) -> impl Iterator<Item = &Range<u64>> {
    std::iter::once(&function.code).chain(&function.cold)
}

/// The source line of each address that has one: that of the innermost function there.
fn lines(path: &Path, addresses: &[u64]) -> BTreeMap<u64, SourceLine> {
    let mut processes = Processes::new();
    let Some(file) = processes.file(path) else { return BTreeMap::new() };
    let places: Vec<RawFrame> =
        addresses.iter().map(|address| RawFrame { file, address: *address }).collect();
    let names = processes.names(&places, LINES_WITHIN);
    let mut sources: BTreeMap<String, Option<Vec<String>>> = BTreeMap::new();
    let mut lines = BTreeMap::new();
    for (address, functions) in addresses.iter().zip(names.functions) {
        let innermost = functions.into_iter().next().and_then(|function| function.source);
        let Some((file, line)) = innermost.filter(|(_, line)| *line > 0) else { continue };
        let source = sources
            .entry(file.clone())
            .or_insert_with(|| source::text(&file).map(|text| text.lines().map(str::to_owned).collect()));
        let text = source.as_ref().and_then(|source| source.get(line as usize - 1).cloned());
        lines.insert(*address, SourceLine { file, line, text });
    }
    lines
}

/// Opens a file of code.
///
/// # Errors
/// It is not there, or no regular file.
pub(crate) fn open(path: &Path) -> anyhow::Result<File> {
    let file = File::open(path).with_context(|| format!("cannot read {path:?}"))?;
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        bail!("cannot read {path:?}: it is no file");
    }
    Ok(file)
}
