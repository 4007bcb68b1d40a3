//! Running the commands in alternation.

use crate::attend::{Attended, Attention, attend};
use crate::catch::RunOutput;
use crate::counters::Before;
use crate::empty::EmptyProgram;
use crate::error::Error;
use crate::metric::Metric;
use crate::plan::{Doing, Go, IgnoredFailures, Input, Output, Plan, Planned, Progress};
use crate::row::{self, RunPosition};
use crate::shuffle::Chance;
use crate::streams::{Drain, Streams};
use model::Ns;
use model::recording::Ending;
use model::timing::TimedRun;
use std::env;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::Duration;
use sys::clock::monotonic_ns;
use sys::resolve::{NotRunnable, resolve};
use sys::spawn;
use sys::starter::{CommandEnd, Order, Starter};

/// How long processes that a run left behind are waited for.
const LEFT_PATIENCE_NS: Ns = 1_000_000_000;

/// How often it is looked whether they still live.
const LEFT_LOOK: Duration = Duration::from_millis(10);

/// How often caught output is taken where the run does not count.
const TAKE_EACH_NS: Ns = 100_000_000;

/// The same where it does.
const TAKE_EACH_TIMED_NS: Ns = 1_000_000_000;

/// Each command once.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Its number: from 0.
    pub number: u32,
    /// The runs, in the order in which they ran; without one that was stopped.
    pub runs: Vec<TimedRun>,
    /// What each of `runs` printed, in the first block.
    pub outputs: Vec<RunOutput>,
    /// Whether all commands ran.
    pub end: BlockEnd,
    /// Commands that left processes behind which still lived a second later, with their number:
    /// they disturb the next runs.
    pub lingering: Vec<(usize, u32)>,
}

/// How a block ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockEnd {
    /// Each command ran.
    Complete,
    /// The caller stopped it.
    Stopped,
    /// The last run of the first block failed, so nothing more was run.
    Failed,
}

/// Runs commands.
#[derive(Debug)]
pub struct Runner {
    starter: Starter,
    planned: Vec<Planned>,
    /// The same when they were found.
    commands: Vec<Ready>,
    input: Input,
    output: Output,
    metric: Option<Metric>,
    ignored: IgnoredFailures,
    chance: Chance,
    padding: bool,
    watch: Option<OwnedFd>,
    /// The number of the next block.
    next_block: u32,
    /// How well the size of a process is known.
    slack_bytes: u64,
    /// When the first run began.
    first_ns: Option<Ns>,
    empty: Option<EmptyProgram>,
}

/// A command whose programs were found.
#[derive(Debug)]
struct Ready {
    order: Order,
    prepare: Option<Order>,
    conclude: Option<Order>,
    environment: Vec<OsString>,
    /// The wall clock of its last run.
    last_ns: Option<Ns>,
}

/// A run, or none if it was stopped.
type Turn = Option<(TimedRun, Option<RunOutput>)>;

/// For progress.
type Tell<'a> = &'a mut dyn FnMut(Progress) -> Go;

impl Runner {
    /// Finds all programs, opens all files once, and begins the process that starts the commands:
    /// to be called while dwell has one thread and is small. Nothing of the user's runs.
    ///
    /// # Errors
    /// A program cannot be run, a file cannot be used, or there are no more processes.
    pub fn begin(plan: Plan) -> Result<Self, Error> {
        let mut runner = Self::begin_before_setup(plan)?;
        runner.find()?;
        Ok(runner)
    }

    /// The same where [`Runner::once`] first makes the programs and files: they are looked for as
    /// the first block begins.
    ///
    /// # Errors
    /// There are no more processes.
    pub fn begin_before_setup(plan: Plan) -> Result<Self, Error> {
        Ok(Self {
            starter: Starter::begin()?,
            planned: plan.commands,
            commands: Vec::new(),
            input: plan.input,
            output: plan.output,
            metric: plan.metric,
            ignored: plan.ignored,
            chance: Chance::new(plan.seed),
            padding: plan.padding,
            watch: plan.watch,
            next_block: 0,
            slack_bytes: host::own::resident_slack_bytes(host::cpus(host::here()).len()),
            first_ns: None,
            empty: None,
        })
    }

    /// Runs each command once, in random order. The first block catches what they print, and ends
    /// with a run that fails.
    ///
    /// # Errors
    /// A command could not be started, or one around it failed.
    pub fn block(&mut self, tell: Tell<'_>) -> Result<Block, Error> {
        if self.commands.is_empty() {
            self.find()?;
        }
        let number = self.next_block;
        self.next_block += 1;
        let (mut runs, mut outputs, mut lingering) = (Vec::new(), Vec::new(), Vec::new());
        let mut end = BlockEnd::Complete;
        for (command, place) in self.chance.order(self.commands.len()).into_iter().zip(0..) {
            let Some((run, output)) =
                self.turn(RunPosition { command, block: number, place }, &mut lingering, tell)?
            else {
                end = BlockEnd::Stopped;
                break;
            };
            let failed = self.ignored.fails(&run.ending);
            runs.push(run);
            if number == 0 {
                outputs.extend(output);
                if failed {
                    end = BlockEnd::Failed;
                    break;
                }
            }
        }
        Ok(Block { number, runs, outputs, end, lingering })
    }

    /// Runs a command that is not timed, before or after all others. [`Go::Stop`] if the caller
    /// stopped it.
    ///
    /// # Errors
    /// It cannot be run, or it failed.
    pub fn once(&mut self, argv: &[OsString], tell: Tell<'_>) -> Result<Go, Error> {
        let at = RunPosition { command: 0, block: self.next_block, place: 0 };
        let environment = entries(&[]);
        self.chore(Doing::Once, &Order::new(argv)?, &environment, at, tell)
    }

    /// The wall clock of a run of an empty program, started as all others are. None if it was
    /// stopped, for a while or for good.
    ///
    /// # Errors
    /// Why there is none: a sentence without a full stop.
    pub fn empty(&mut self, tell: Tell<'_>) -> Result<Option<Ns>, String> {
        if let Some(program) = &self.empty {
            let order = program.order().clone();
            return self.empty_run(&order, tell);
        }
        let mut why = String::new();
        for made in [EmptyProgram::in_memory, EmptyProgram::in_a_file] {
            let ran = made().and_then(|program| Ok((self.empty_run(program.order(), tell)?, program)));
            match ran {
                Ok((wall_ns, program)) => {
                    self.empty = Some(program);
                    return Ok(wall_ns);
                }
                Err(reason) => why = reason,
            }
        }
        Err(why)
    }

    fn empty_run(&mut self, order: &Order, tell: Tell<'_>) -> Result<Option<Ns>, String> {
        let environment = self.environment(0);
        let in_words = |error: Error| error.to_string();
        let (mut streams, _) = Streams::open(&Input::Null, &Output::Null).map_err(in_words)?;
        self.starter.start(order, &environment, streams.descriptors()).map_err(|error| error.to_string())?;
        let watch = self.watch.as_ref().map(AsFd::as_fd);
        let attention = Attention { watch, drain: None, take_each_ns: Ns::MAX };
        let at = RunPosition { command: 0, block: self.next_block, place: 0 };
        let mut told = |so_far_ns| tell(progress(Doing::Empty, at, so_far_ns));
        match attend(&mut self.starter, &mut streams, attention, &mut told).map_err(in_words)? {
            Attended::Stopped => Ok(None),
            Attended::Ended(end) if end.was_stopped => Ok(None),
            Attended::Ended(end) if end.end.ending == Ending::Code(0) => Ok(Some(end.wall_ns)),
            // Signals of the terminal are for it as well.
            Attended::Ended(end) if matches!(end.end.ending, Ending::Signal(_)) => Ok(None),
            Attended::Ended(_) => Err("an empty program did not end as it should".to_owned()),
        }
    }

    /// Finds all programs, and opens all files once.
    fn find(&mut self) -> Result<(), Error> {
        self.commands = self.planned.iter().map(Ready::new).collect::<Result<_, NotRunnable>>()?;
        Streams::open(&self.input, &self.output)?;
        Ok(())
    }

    /// One run with what prepares and concludes it.
    fn turn(
        &mut self,
        at: RunPosition,
        lingering: &mut Vec<(usize, u32)>,
        tell: Tell<'_>,
    ) -> Result<Turn, Error> {
        let ready = &self.commands[at.command];
        let (prepare, conclude) = (ready.prepare.clone(), ready.conclude.clone());
        let chores_environment = ready.environment.clone();
        if let Some(prepare) = prepare
            && self.chore(Doing::Prepare, &prepare, &chores_environment, at, tell)? == Go::Stop
        {
            return Ok(None);
        }
        if tell(progress(Doing::Run, at, 0)) == Go::Stop {
            return Ok(None);
        }
        let Some((end, before, streams)) = self.timed(at, tell)? else { return Ok(None) };
        let first_ns = *self.first_ns.get_or_insert(end.started_ns);
        self.commands[at.command].last_ns = Some(end.wall_ns);
        let mut run = row::row(at, &end, first_ns, before, self.slack_bytes);
        let failed = row::exclude_failed(&mut run, &self.ignored);
        if let Some(metric) = &self.metric
            && !failed
        {
            row::take_printed(&mut run, metric, &streams);
        }
        if let Some(conclude) = conclude
            && self.chore(Doing::Conclude, &conclude, &chores_environment, at, tell)? == Go::Stop
        {
            return Ok(None);
        }
        if end.left_behind > 0 {
            let still = self.wait_for_left(&end)?;
            lingering.extend((still > 0).then_some((at.command, still)));
        }
        let output = (at.block == 0).then(|| streams.output()).flatten();
        Ok(Some((run, output)))
    }

    /// The run that is timed; none if it was stopped.
    fn timed(
        &mut self,
        at: RunPosition,
        tell: Tell<'_>,
    ) -> Result<Option<(CommandEnd, Before, Streams)>, Error> {
        let environment = self.environment(at.command);
        let (mut streams, drain) = self.streams(at.block)?;
        let ready = &self.commands[at.command];
        let take_each_ns = if at.block == 0 { TAKE_EACH_NS } else { TAKE_EACH_TIMED_NS };
        let before = Before::read(ready.last_ns);
        self.starter.start(&ready.order, &environment, streams.descriptors())?;
        let attention = Attention { watch: self.watch.as_ref().map(AsFd::as_fd), drain, take_each_ns };
        let mut told = |so_far_ns| tell(progress(Doing::Run, at, so_far_ns));
        match attend(&mut self.starter, &mut streams, attention, &mut told) {
            Ok(Attended::Ended(end)) => Ok(Some((*end, before, streams))),
            Ok(Attended::Stopped) => Ok(None),
            Err(error) => Err(gone(error)),
        }
    }

    fn streams(&self, block: u32) -> Result<(Streams, Option<Drain>), Error> {
        match &self.metric {
            Some(_) => Ok((Streams::caught(&self.input, true)?, None)),
            None if block == 0 => Ok((Streams::caught(&self.input, false)?, None)),
            None => Streams::open(&self.input, &self.output),
        }
    }

    /// The environment of a run.
    fn environment(&mut self, command: usize) -> Vec<OsString> {
        let mut environment =
            self.commands.get(command).map_or_else(Vec::new, |ready| ready.environment.clone());
        if self.padding {
            environment.push(self.chance.padding());
        }
        environment
    }

    /// Runs a command that is not timed.
    fn chore(
        &mut self,
        doing: Doing,
        order: &Order,
        environment: &[OsString],
        at: RunPosition,
        tell: Tell<'_>,
    ) -> Result<Go, Error> {
        if tell(progress(doing, at, 0)) == Go::Stop {
            return Ok(Go::Stop);
        }
        let mut streams = Streams::caught(&Input::Null, false)?;
        self.starter.start(order, environment, streams.descriptors())?;
        let watch = self.watch.as_ref().map(AsFd::as_fd);
        let attention = Attention { watch, drain: None, take_each_ns: TAKE_EACH_NS };
        let mut told = |so_far_ns| tell(progress(doing, at, so_far_ns));
        let attended = attend(&mut self.starter, &mut streams, attention, &mut told);
        match attended.map_err(gone)? {
            Attended::Stopped => Ok(Go::Stop),
            Attended::Ended(end) if end.end.ending == Ending::Code(0) => Ok(Go::On),
            Attended::Ended(end) => Err(Error::Chore {
                doing,
                command: words(&order.argv),
                ending: end.end.ending,
                output: Box::new(streams.output().unwrap_or_default()),
            }),
        }
    }

    /// Waits a moment for processes that a run left behind; how many still live then. Those of
    /// earlier commands, a server that was started for all runs for example, are not waited for.
    fn wait_for_left(&mut self, end: &CommandEnd) -> Result<u32, Error> {
        let until_ns = monotonic_ns() + LEFT_PATIENCE_NS;
        loop {
            let still = self.starter.left_behind()?.saturating_sub(end.left_earlier);
            if still == 0 || monotonic_ns() >= until_ns {
                return Ok(still.min(end.left_behind));
            }
            thread::sleep(LEFT_LOOK);
        }
    }
}

impl Ready {
    fn new(planned: &Planned) -> Result<Self, NotRunnable> {
        let chore = |argv: &Option<Vec<OsString>>| argv.as_deref().map(Order::new).transpose();
        Ok(Self {
            order: Order::new(&planned.argv)?,
            prepare: chore(&planned.prepare)?,
            conclude: chore(&planned.conclude)?,
            environment: entries(&planned.env),
            last_ns: None,
        })
    }
}

/// dwell's own environment with these variables in place of its own, as entries `NAME=value`.
fn entries(variables: &[(OsString, OsString)]) -> Vec<OsString> {
    let kept = env::vars_os().filter(|(name, _)| variables.iter().all(|(set, _)| name != set));
    let join = |(mut entry, value): (OsString, OsString)| {
        entry.push("=");
        entry.push(value);
        entry
    };
    kept.chain(variables.iter().cloned()).map(join).collect()
}

fn progress(doing: Doing, at: RunPosition, so_far_ns: Ns) -> Progress {
    Progress { doing, command: at.command, block: at.block, place: at.place, so_far_ns }
}

/// Whether a program that was there at first was removed since, which the kernel's error alone does
/// not say.
fn gone(error: Error) -> Error {
    match &error {
        Error::Start(spawn::Error::Exec { path, .. }) => match resolve(path.as_os_str()) {
            Err(not_runnable) => not_runnable.into(),
            Ok(_) => error,
        },
        _ => error,
    }
}

fn words(argv: &[OsString]) -> String {
    argv.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
