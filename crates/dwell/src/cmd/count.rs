//! `dwell run --count-blocks`: exact executions of each basic block, by single-stepping the
//! program.
//!
//! It measures no times: a stepped program is thousands of times slower.

use crate::annotate::{self, Counted};
use crate::cli::{RunArgs, UnitArg};
use crate::cmd::unit::{function_remedy, with_causes};
use crate::exit;
use crate::keep::ResultStore;
use crate::out::{Outputs, Page, Render};
use crate::output;
use anyhow::{Context, anyhow, bail};
use code::Function;
use listing::{
    CountedBlocks, CountedFunction, ExecutionCounts as Executions, FunctionSum, Listing, OtherFunctions,
    SCHEMA_BLOCKS, Stopped, Subject, UnnamedSum,
};
use model::recording::Ending;
use observe::Sources;
use observe::blocks::{BlockCounts, CountTarget, count_blocks};
use observe::function_code::{image, image_for, only};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use sys::at_once::EndAtOnce;
use sys::clock::{rfc3339, unix_s};
use sys::policy::RtBoost;
use sys::resolve::resolve_as;
use sys::rights;
use sys::signals::Signals;
use sys::spawn::{Command, ENDING};
use sys::step;
use sys::step::{Limits, StopReason};
use sys::untrusted_file::Rights;
use sys::user::User;

/// Functions of a whole program that are listed with their blocks, and those in the table.
const LISTED: usize = 3;
const TABLE: usize = 15;

/// Refuses options of what a recording has: there is none where executions are counted, by `how`.
pub(super) fn counts_only(how: &str, args: &RunArgs) -> anyhow::Result<()> {
    let (page, code) = (&args.page, &args.page.code);
    let given = [
        ("keep", args.watching.keep.is_some()),
        ("flame", code.flame),
        ("lines", !code.lines.is_empty()),
        ("annotate", !code.annotate.is_empty()),
        ("causes", code.causes),
        ("work", page.work.is_some()),
        ("unit", args.watching.unit != UnitArg::Request),
    ];
    let given = given.into_iter().filter_map(|(name, given)| given.then_some(name));
    let forms = page.forms.keys().map(String::as_str).filter(|name| !["json", "html"].contains(name));
    let names: Vec<String> = forms.chain(given).map(|name| format!("--{name}")).collect();
    if names.is_empty() {
        return Ok(());
    }
    let names = names.join(" and ");
    bail!(
        "{how} counts executions and records nothing, so there is nothing for {names}\ntry: without {names}"
    )
}

/// Opens the outputs of a run that only counts.
pub(super) fn outputs<R: Render>(args: &RunArgs) -> anyhow::Result<Outputs<R>> {
    let page = if args.quiet { Page::None } else { Page::Stderr };
    Outputs::open(&args.page.forms, args.page.output.as_ref().map_or(page, Page::To), None, &[])
}

/// The command as a result has it.
pub(super) fn words(args: &RunArgs) -> Vec<String> {
    analyse::bounded_command(args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect())
}

/// Runs the program and counts; returns the exit status. `asked` is the function, empty for all.
pub(crate) fn run(args: &RunArgs, asked: &str, keeper: &mut ResultStore) -> anyhow::Result<u8> {
    counts_only("--count-blocks", args)?;
    // An ordinary user needs none of them to trace what he starts.
    rights::give_up();
    // Opening waits for the reader of a pipe: a signal ends that.
    let outputs = outputs::<CountedBlocks>(args)?;
    let mut signals = Signals::take_over().context("cannot handle signals")?;
    let user = args.user.as_deref().map(User::look_up).transpose()?;
    let (program, arguments) = args.command.split_first().context("no program")?;
    let command = Command { program: program.clone(), args: arguments.to_vec(), user };
    let limits = Limits::default();
    let (name, file) = match asked.split_once('@') {
        Some((name, file)) => (name, PathBuf::from(file)),
        None => {
            let found = resolve_as(program, command.user.as_ref());
            (asked, found.map_err(|error| observe::Error::Start(error.into()))?)
        }
    };
    let rights = command.user.as_ref().map_or_else(Rights::own, Rights::of_user);
    let sources = Sources::of(rights, &BTreeSet::new());
    if !args.quiet {
        output::complain("if dwell is killed while it counts, so is the program");
    }
    let (function, counted) = if name.is_empty() {
        (None, CountTarget::Program)
    } else {
        // Debug information may be large, and until the program starts there is nothing to lose.
        let _at_once = EndAtOnce::begin(output::remove_unwritten).ok();
        let (function, parts) = find(&file, name)?;
        (Some(function), CountTarget::Function { file: file.clone(), parts })
    };
    let started_at = rfc3339(unix_s());
    let counts = count_blocks(&command, &counted, limits, Some(&mut signals)).map_err(not_started)?;
    signals.outlast_one();
    let _hurry = asked_to_end(&counts).then(RtBoost::begin);
    output::complain_of_left(counts.left, "counted");
    let found = match &function {
        None => of_program(&counts, &sources)?,
        Some(function) => of_function(&counts, &file, function, &sources)?,
    };
    let result = CountedBlocks {
        schema: SCHEMA_BLOCKS.to_owned(),
        host: observe::this_host(),
        started_at,
        command: words(args),
        function: function.is_some().then(|| CountedFunction {
            asked: asked.to_owned(),
            file: file.to_string_lossy().into_owned(),
            loaded: counts.counted.found,
        }),
        functions: found.functions,
        other: found.other,
        unnamed: found.unnamed,
        listings: found.listings,
        steps: counts.counted.steps,
        elapsed_ns: counts.counted.elapsed_ns,
        children: counts.counted.children,
        stopped: stopped(counts.counted.stopped),
    };
    let result = result.bounded();
    let failed = outputs.write(&result, &args.page.look).complain();
    keeper.offer(&result, None);
    let left = || exit::of_left(counts.left, exit::DWELL_FAILED);
    Ok(match counts.counted.ending.map_or_else(left, exit::of_program) {
        0 if failed => exit::DWELL_FAILED,
        status => status,
    })
}

fn stopped(by: StopReason) -> Stopped {
    match by {
        StopReason::Ended => Stopped::Ended,
        StopReason::Steps | StopReason::Time => Stopped::Limit,
        StopReason::Signal => Stopped::Signal,
        StopReason::Entrusted => Stopped::Entrusted,
        StopReason::Unsteppable => Stopped::Unsteppable,
    }
}

/// Whether a signal ended the program by which people and service managers end programs, or was to
/// end it: then who sent it waits for dwell as well.
fn asked_to_end(counts: &BlockCounts) -> bool {
    counts.left.is_some()
        || matches!(counts.counted.ending, Some(Ending::Signal(signal)) if ENDING.contains(&signal))
}

/// A program that cannot be started has an exit status of its own, as without counting.
fn not_started(error: step::Error) -> anyhow::Error {
    match error {
        step::Error::Spawn(error) => observe::Error::Start(error).into(),
        other => other.into(),
    }
}

/// The only function of the file that matches `name`, and the file offsets of its parts.
fn find(path: &Path, name: &str) -> anyhow::Result<(Function, Vec<std::ops::Range<u64>>)> {
    let found = image(path).and_then(|image| Ok((only(image.find(name), path, name)?, image)));
    let (function, image) = found.map_err(|error| match function_remedy(&error, "--count-blocks", name) {
        Some(remedy) => anyhow!("{}\ntry: {remedy}", with_causes(&error)),
        None => error.into(),
    })?;
    let parts = function
        .ranges()
        .map(|part| Some(image.offset_of(part.start)?..image.offset_of(part.end.checked_sub(1)?)? + 1))
        .collect::<Option<Vec<_>>>()
        .with_context(|| format!("{path:?} has no code for {name:?}"))?;
    Ok((function, parts))
}

/// What was counted, by function.
#[derive(Default)]
struct Found {
    functions: Vec<FunctionSum>,
    other: OtherFunctions,
    unnamed: Vec<UnnamedSum>,
    listings: Vec<Listing>,
}

fn of_function(
    counts: &BlockCounts,
    path: &Path,
    function: &Function,
    sources: &Sources,
) -> anyhow::Result<Found> {
    if !counts.counted.found {
        return Ok(Found::default());
    }
    let executions = counts.file.as_ref().and_then(|file| counts.counted.modules.get(file));
    let listed = listed(counts, path, function, executions.unwrap_or(&BTreeMap::new()), sources)?;
    Ok(Found { listings: vec![listed], ..Found::default() })
}

/// The functions with the most executed instructions, and the blocks of the first [`LISTED`].
fn of_program(counts: &BlockCounts, sources: &Sources) -> anyhow::Result<Found> {
    let mut functions: Vec<(u64, &str, Function)> = Vec::new();
    let mut unnamed: Vec<(u64, &str)> = Vec::new();
    for (module, executions) in &counts.counted.modules {
        let all: u64 = executions.values().sum();
        let Ok(image) = image_for(Path::new(module), sources) else {
            unnamed.push((all, module));
            continue;
        };
        let mut sums: BTreeMap<u64, (u64, Function)> = BTreeMap::new();
        let mut last: Option<Function> = None;
        for (offset, times) in executions {
            let Some(address) = image.address_of(*offset) else { continue };
            if last.as_ref().is_none_or(|function| !function.code.contains(&address)) {
                last = image.at(address);
            }
            if let Some(function) = &last {
                sums.entry(function.code.start).or_insert_with(|| (0, function.clone())).0 += times;
            }
        }
        let named: u64 = sums.values().map(|(sum, _)| sum).sum();
        unnamed.push((all - named, module));
        functions.extend(sums.into_values().map(|(sum, function)| (sum, module.as_str(), function)));
    }
    functions.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.2.symbol.cmp(&b.2.symbol)));
    let sum = |(instructions, module, function): &(u64, &str, Function)| FunctionSum {
        name: function.name.clone(),
        module: (*module).to_owned(),
        instructions: *instructions,
    };
    let listing = |(_, module, function): &(u64, &str, Function)| {
        listed(counts, Path::new(module), function, &counts.counted.modules[*module], sources)
    };
    let unnamed = unnamed.into_iter().filter(|(sum, _)| *sum > 0);
    Ok(Found {
        functions: functions.iter().take(TABLE).map(sum).collect(),
        other: OtherFunctions {
            functions: functions.len().saturating_sub(TABLE) as u64,
            instructions: functions.iter().skip(TABLE).map(|(sum, _, _)| sum).sum(),
        },
        unnamed: unnamed
            .map(|(instructions, module)| UnnamedSum { module: module.to_owned(), instructions })
            .collect(),
        listings: functions.iter().take(LISTED).map(listing).collect::<anyhow::Result<_>>()?,
    })
}

fn listed(
    counts: &BlockCounts,
    path: &Path,
    function: &Function,
    executions: &BTreeMap<u64, u64>,
    sources: &Sources,
) -> anyhow::Result<Listing> {
    let image = image_for(path, sources)?;
    let executions =
        executions.iter().filter_map(|(offset, times)| Some((image.address_of(*offset)?, *times))).collect();
    let executions = Executions { executions, partial: !counts.complete() };
    let subject = Subject {
        name: function.name.clone(),
        module: path.to_string_lossy().into_owned(),
        program_ns: 0,
        program_samples: 0,
    };
    let counted = Counted { subject, samples: &BTreeMap::new(), executions: Some(&executions) };
    annotate::listing(path, function, counted, sources)
}
