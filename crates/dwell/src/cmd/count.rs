//! `dwell run --count-blocks`: exact executions of each basic block, by single-stepping the
//! program.
//!
//! It measures no times: a stepped program is thousands of times slower.

use crate::annotate::{self, Counted};
use crate::cli::RunArgs;
use crate::exit;
use crate::look::{OutputKind, look};
use crate::out::OutputPath;
use crate::output::{self, Target as File};
use anyhow::{Context, anyhow, bail};
use code::Function;
use listing::{ExecutionCounts as Executions, Subject};
use model::recording::Ending;
use observe::Sources;
use observe::blocks::{BlockCounts, CountTarget, count_blocks};
use observe::function_code::{Error, image, image_for};
use report::Look;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use sys::at_once::EndAtOnce;
use sys::foreign::Rights;
use sys::policy::Hurry;
use sys::resolve::resolve_as;
use sys::rights;
use sys::signals::Signals;
use sys::spawn::{Command, ENDING};
use sys::step;
use sys::step::{Limits, StopReason};
use sys::user::User;

/// Functions of a whole program that are listed with their blocks, and those in the table.
const LISTED: usize = 3;
const TABLE: usize = 15;

/// How listings look, and who reads their sources.
struct Shown {
    look: Look,
    sources: Sources,
}

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
    ];
    let given = given.into_iter().filter_map(|(name, given)| given.then_some(name));
    let names: Vec<String> =
        page.forms.keys().map(String::as_str).chain(given).map(|name| format!("--{name}")).collect();
    if names.is_empty() {
        return Ok(());
    }
    let names = names.join(" and ");
    bail!(
        "{how} counts executions and records nothing, so there is nothing for {names}\ntry: without {names}"
    )
}

/// Runs the program and counts; returns the exit status. `asked` is the function, empty for all.
pub(crate) fn run(args: &RunArgs, asked: &str) -> anyhow::Result<u8> {
    counts_only("--count-blocks", args)?;
    // An ordinary user needs none of them to trace what he starts.
    rights::give_up();
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
    let (page, target) = match &args.page.output {
        Some(OutputPath::Stdout) => (OutputKind::Stdout, None),
        Some(OutputPath::File(path)) => (OutputKind::File, Some(File::open(path)?)),
        None => (OutputKind::Stderr, None),
    };
    let rights = command.user.as_ref().map_or_else(Rights::own, Rights::of_user);
    let shown = Shown { look: look(&args.page.look, page), sources: Sources::of(rights, &BTreeSet::new()) };
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
    let counts = count_blocks(&command, &counted, limits, Some(&mut signals)).map_err(not_started)?;
    drop(signals);
    let _hurry = asked_to_end(&counts).then(Hurry::begin);
    output::complain_of_left(counts.left, "counted");
    let text = match &function {
        None => of_program(&counts, &shown)?,
        Some(function) => of_function(&counts, &file, function, &shown)?,
    };
    let text = text + &overhead(&counts, shown.look);
    match target {
        Some(target) => target.write(&text)?,
        None if page == OutputKind::Stdout => output::to_stdout(&text)?,
        None => output::to_stderr(&text),
    }
    let left = || exit::of_left(counts.left, exit::DWELL_FAILED);
    Ok(counts.counted.ending.map_or_else(left, exit::of_program))
}

/// What the last line says of a program that goes on.
pub(super) const LEFT: &str = "; stopped by a signal, and the program went on: counts are incomplete";

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
    let image = image(path).map_err(|error| {
        let hint = format!("try: --count-blocks={name}@FILE with the file that contains it");
        match error {
            Error::NoCode(path, why) => anyhow!("cannot find {name:?} in {path:?}: {why}\n{hint}"),
            other => other.into(),
        }
    })?;
    let mut found = image.find(name);
    let function = match found.len() {
        0 => bail!(
            "{path:?} has no function called {name:?}\n\
             try: --count-blocks={name}@FILE with the file that contains it, or a name from `nm -C {}`",
            path.display()
        ),
        1 => found.remove(0),
        many => {
            let names: Vec<&str> = found.iter().take(5).map(|function| function.name.as_str()).collect();
            bail!(
                "{many} functions of {path:?} match {name:?}: {}\ntry: the full name of one of them",
                names.join(", ")
            )
        }
    };
    let parts = function
        .ranges()
        .map(|part| Some(image.offset_of(part.start)?..image.offset_of(part.end.checked_sub(1)?)? + 1))
        .collect::<Option<Vec<_>>>()
        .with_context(|| format!("{path:?} has no code for {name:?}"))?;
    Ok((function, parts))
}

fn of_function(
    counts: &BlockCounts,
    path: &Path,
    function: &Function,
    shown: &Shown,
) -> anyhow::Result<String> {
    if !counts.counted.found {
        return Ok(format!(
            "the program never loaded {}\n",
            report::clean(&path.to_string_lossy(), shown.look.unicode)
        ));
    }
    let executions = counts.file.as_ref().and_then(|file| counts.counted.modules.get(file));
    listed(counts, path, function, executions.unwrap_or(&BTreeMap::new()), shown)
}

/// The functions with the most executed instructions, and the blocks of the first [`LISTED`].
fn of_program(counts: &BlockCounts, shown: &Shown) -> anyhow::Result<String> {
    let look = shown.look;
    let mut functions: Vec<(u64, &str, Function)> = Vec::new();
    let mut unnamed: Vec<(u64, &str)> = Vec::new();
    for (module, executions) in &counts.counted.modules {
        let all: u64 = executions.values().sum();
        let Ok(image) = image_for(Path::new(module), &shown.sources) else {
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
    let mut text = String::from("   instructions  function\n");
    for (sum, module, function) in functions.iter().take(TABLE) {
        let module = module.rsplit('/').next().unwrap_or(module);
        let name = report::clean(&format!("{} in {module}", function.name), look.unicode);
        text.push_str(&format!("{:>15}  {name}\n", report::units::count(*sum)));
    }
    let rest: u64 = functions.iter().skip(TABLE).map(|(sum, _, _)| sum).sum();
    text.push_str(&format!(
        "{:>15}  {} other functions\n",
        report::units::count(rest),
        functions.len().saturating_sub(TABLE)
    ));
    for (sum, module) in unnamed.iter().filter(|(sum, _)| *sum > 0) {
        let module = if module.is_empty() { "memory without a file" } else { module };
        let code = report::clean(&format!("code without symbols in {module}"), look.unicode);
        text.push_str(&format!("{:>15}  {code}\n", report::units::count(*sum)));
    }
    for (_, module, function) in functions.iter().take(LISTED) {
        text.push('\n');
        let executions = &counts.counted.modules[*module];
        text.push_str(&listed(counts, Path::new(module), function, executions, shown)?);
    }
    Ok(text)
}

fn listed(
    counts: &BlockCounts,
    path: &Path,
    function: &Function,
    executions: &BTreeMap<u64, u64>,
    shown: &Shown,
) -> anyhow::Result<String> {
    let image = image_for(path, &shown.sources)?;
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
    annotate::text(path, function, counted, &shown.sources, shown.look)
}

/// The overhead of counting, and what was not counted.
fn overhead(counts: &BlockCounts, look: Look) -> String {
    let counted = &counts.counted;
    let mut text = format!(
        "counted exactly: {} instructions stepped in {}",
        report::units::count(counted.steps),
        report::units::duration(counted.elapsed_ns)
    );
    if let Some(rate) = counts.steps_per_s() {
        text.push_str(&format!(
            " ({} per second; times are not meaningful)",
            report::units::count(rate as u64)
        ));
    }
    if counted.children > 0 {
        text.push_str(&format!("; {} child processes not counted", counted.children));
    }
    match counted.stopped {
        StopReason::Ended => {}
        StopReason::Steps | StopReason::Time => {
            text.push_str("; stopped at the limit: counts are incomplete")
        }
        StopReason::Signal => text.push_str(LEFT),
        StopReason::Entrusted => text.push_str(
            "; stopped at a program with rights of its own (set-user-ID, or capabilities): counts are incomplete",
        ),
        StopReason::Unsteppable => {
            text.push_str(
                "; stopped at an instruction that cannot be stepped (load-exclusive): counts are incomplete",
            );
        }
    }
    report::clean(&text, look.unicode) + "\n"
}
