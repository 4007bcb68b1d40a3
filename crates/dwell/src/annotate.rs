//! The listing of one function: its code with samples or counts.

use anyhow::bail;
use code::Function;
use listing::{AddressSamples, ExecutionCounts, Listing, Subject};
use model::run::Address;
use observe::Sources;
use observe::function_code::{FunctionCode, most_sampled};
use report::Look;
use std::collections::BTreeMap;
use std::path::Path;

/// The listing of the function called `name` with the most samples.
///
/// # Errors
/// No sampled file has such a function, or it cannot be read.
pub(crate) fn sampled(
    name: &str,
    addresses: &[Address],
    sources: &Sources,
    look: Look,
) -> anyhow::Result<String> {
    let Some((module, function)) = most_sampled(name, addresses, sources) else {
        bail!(
            "no sampled file has a function called {name:?} (one that is inlined everywhere has no code of its own)\n\
             try: --lines {name:?}, or the function that it is inlined into"
        );
    };
    let of_module = addresses.iter().filter(|at| at.module == module);
    let samples = of_module.map(|at| (at.address, AddressSamples { ns: at.ns, count: at.samples })).collect();
    let subject = Subject {
        name: function.name.clone(),
        module: module.to_owned(),
        program_ns: addresses.iter().map(|at| at.ns).sum(),
        program_samples: addresses.iter().map(|at| at.samples).sum(),
    };
    let counted = Counted { subject, samples: &samples, executions: None };
    let listed = listing(Path::new(module), &function, counted, sources)?;
    Ok(report::listing::listing(&listed, look))
}

/// What was counted of a function.
pub(crate) struct Counted<'a> {
    pub(crate) subject: Subject,
    /// By address; further ones are ignored.
    pub(crate) samples: &'a BTreeMap<u64, AddressSamples>,
    pub(crate) executions: Option<&'a ExecutionCounts>,
}

/// The listing of one function of a file.
///
/// # Errors
/// The file cannot be read, or has no such code.
pub(crate) fn listing(
    path: &Path,
    function: &Function,
    counted: Counted<'_>,
    sources: &Sources,
) -> anyhow::Result<Listing> {
    let Counted { subject, samples, executions: counts } = counted;
    let code = FunctionCode::read(path, function, sources)?;
    let within = |address: &u64| function.ranges().any(|part| part.contains(address));
    let samples =
        samples.iter().filter(|(address, _)| within(address)).map(|(at, sample)| (*at, *sample)).collect();
    Ok(listing::listing(subject, &code.instructions, &samples, &code.lines, counts))
}
