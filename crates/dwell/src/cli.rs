//! The command line: verbs, options and their help. Pages of runs, measurements of wake-ups and
//! loads have their options in files of their own; the look of a page has them in [`crate::look`].

mod compare;
mod export;
mod help;
mod lab;
mod load;
mod mcp;
mod others;
mod page;
mod push;
mod store;
mod unit;
mod wake;

use crate::look::LookArgs;
use crate::out::{FormArgs, LadderDiffResult, LadderResult, OutputArgs, OutputPath};
use clap::{Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
pub(crate) use compare::{CommandArgs, CompareArgs, IgnoredStatuses, RevisionArgs, StreamArg};
pub(crate) use export::{ExportArgs, ExportFormat};
pub(crate) use help::start;
pub(crate) use lab::{LabArgs, saving};
pub(crate) use load::{LoadArgs, load};
pub(crate) use mcp::McpArgs;
use model::doctor::Doctor;
use model::requests::Units;
use model::{Ns, Probe, units};
use observe::{Choice, GivenLink, MaxOverhead, Rate, Watching};
pub(crate) use others::of_other_tools;
pub(crate) use page::PageArgs;
pub(crate) use push::{PushArgs, Signal, Temporality};
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
pub(crate) use store::{ListArgs, NoteArgs, RmArgs, Since, StoreArgs, StoreVerbArgs, TagArgs};
pub(crate) use unit::{InFile, UnitArg};
pub(crate) use wake::{Cpus, WakeArgs, bare_numbers};

/// The version of dwell.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The same with the commit, where it was built from a repository, and what it was built for.
pub(crate) const LONG_VERSION: &str = env!("DWELL_VERSION");

/// The definition of the command line, for parsing, completions and manual pages.
pub(crate) fn command() -> Command {
    help::shaped(Cli::command())
}

/// The names of all verbs.
pub(crate) fn verbs() -> Vec<String> {
    Cli::command().get_subcommands().map(|verb| verb.get_name().to_owned()).collect()
}

/// Whether an option of `dwell run` is followed by a value; none where it has no such option.
pub(crate) fn takes(name: &str) -> Option<bool> {
    let mut command = Cli::command();
    command.build();
    let run = command.find_subcommand("run")?;
    let option = run.get_arguments().find(|option| option.get_long() == Some(name))?;
    Some(option.get_action().takes_values() && !option.is_require_equals_set())
}

/// The first example of a verb's help.
pub(crate) fn example(verb: &str) -> Option<String> {
    let examples = Cli::command().find_subcommand(verb)?.get_after_help()?.to_string();
    let first = examples.split_once("Examples:\n")?.1.lines().next()?;
    Some(first.trim().to_owned())
}

/// The command line.
///
/// # Errors
/// It is wrong, or help was asked for.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&command().try_get_matches()?)
}

/// Show where a program's wall-clock time goes
#[derive(Debug, Parser)]
#[command(
    name = "dwell",
    version = LONG_VERSION,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:\n  dwell run -- make -j2\n  sudo dwell attach nginx --for 10s\n  dwell compare './old x' './new x'\n  dwell doctor\n\nOptions of a verb: dwell VERB --help (one screen), dwell help VERB (all)"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,

    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Run(RunArgs),
    Attach(AttachArgs),
    Show(ShowArgs),
    Report(ReportArgs),
    Export(ExportArgs),
    Push(PushArgs),
    Ladder(LadderArgs),
    Wake(WakeArgs),
    Compare(Box<CompareArgs>),
    Diff(DiffArgs),
    List(ListArgs),
    Tag(TagArgs),
    Note(NoteArgs),
    Rm(RmArgs),
    Store(StoreVerbArgs),
    Explain(ExplainArgs),
    Lab(LabArgs),
    Load(LoadArgs),
    Mcp(McpArgs),
    Doctor(DoctorArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Run a program and show where its wall-clock time went
///
/// The report goes to standard error, so it does not mix with the program's standard output.
///
/// The exit status is that of the program, or 128 plus the signal number if a signal killed it. It
/// is 125 if dwell itself failed, 126 if the program cannot be executed, 127 if it is not found.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dwell run ls -lR /usr\n  dwell run --json run.json -- make -j2\n  sudo dwell run --user \"$USER\" -- ./server\n  dwell run --probe -- ./program"
)]
pub(crate) struct RunArgs {
    /// Run the program as this user. NAME is a user name or a UID. The program gets a new session,
    /// and none of dwell's environment variables that may hold secrets
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,

    #[command(flatten)]
    pub(crate) watching: WatchArgs,

    /// Seconds from its start after which the program is ended, for `dwell mcp`
    #[arg(long, value_name = "SECONDS", hide = true)]
    pub(crate) stop_after: Option<u64>,

    /// Count the executions of each basic block of FUNCTION exactly, by single-stepping the
    /// program. Without FUNCTION, count those of all functions. FUNCTION@FILE takes the function
    /// from FILE instead of the program. No times are measured, since each step takes 20 us or
    /// more. If dwell is killed, the program is killed as well
    #[arg(long, value_name = "FUNCTION", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) count_blocks: Option<String>,

    /// Count the executions of each line of a Python program exactly. Needs Python 3.12 or later,
    /// and covers all threads and Python child processes. With FUNCTION, show all lines of that
    /// function. No times are measured, since counting makes Python 2 to 20 times slower
    #[arg(long, value_name = "FUNCTION", num_args = 0..=1, require_equals = true, default_missing_value = "",
          conflicts_with = "count_blocks")]
    pub(crate) hits: Option<String>,

    /// Run a quick `dwell ladder` after the program, and compare the program's waits with it. It
    /// takes about 5 seconds, and uses files in the current directory. The ladder is kept, unless a
    /// full one is kept already
    #[arg(long, conflicts_with_all = ["count_blocks", "hits"])]
    pub(crate) ladder: bool,

    /// After the run, test a finding before anything is changed. dwell runs the command again in
    /// pairs, once as it is and once with the fix imposed from outside, for 20 seconds or one pair.
    /// Everything that the command does is done again. Without NAME, dwell tests the first finding
    /// whose probe does no harm: no-delay, warm-files, raise-priority, keep-memory. Two more run by
    /// name only, and say what they risk: skip-flushes, lift-quota
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "",
          value_parser = probe, conflicts_with_all = ["count_blocks", "hits"])]
    pub(crate) probe: Option<ProbeArg>,

    #[command(flatten)]
    pub(crate) page: PageArgs,

    /// Print no report (write files only)
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// The program and its arguments
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
}

/// Show where running processes spend their time
///
/// Traces the processes with all their threads and descendants, until Ctrl-C, their exit, or the
/// end of --for. The processes are neither stopped nor changed. The report goes to standard output,
/// progress and errors to standard error.
///
/// A server has no end that a critical path could lead to, so the report divides the time of the
/// active threads instead. Threads that only wait for work are summed up.
///
/// The exit status is 0, 125 if dwell failed, or 75 if --skip-if-busy skipped the window. With
/// --every, it is that of the last window.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  sudo dwell attach 1234 --for 10s\n  sudo dwell attach nginx --for 1m --json nginx.json\n  sudo dwell attach server.py --for 10s\n  sudo dwell attach :8080 --for 10s\n  sudo dwell attach --service postgresql --for 30s\n  sudo dwell attach --container 3f2a91 --for 10s\n  sudo dwell attach --cgroup system.slice/cron.service --for 10s\n  sudo dwell attach --pod web-7d9f8b6c5-x2x4z --for 10s\n  sudo dwell attach --service nginx --for 10s --every 1h --skip-if-busy --quiet"
)]
pub(crate) struct AttachArgs {
    /// Processes to trace: PIDs, names, or :PORT. A name is that of the process (as in `ps -o
    /// comm`), of its executable (`python` is also python3), or of the script that it runs
    /// (`server.py`). `:PORT` is the process that listens there
    #[arg(value_name = "TARGET", required_unless_present_any = ["pids", "service", "container", "pod", "cgroup"])]
    pub(crate) targets: Vec<String>,

    /// PIDs, separated by commas, as for perf and strace
    #[arg(short, long = "pid", value_name = "PID", value_delimiter = ',',
          conflicts_with_all = ["service", "container", "pod", "cgroup"])]
    pub(crate) pids: Vec<u32>,

    /// All processes of this systemd unit. A system unit is looked for first, then a user unit
    #[arg(long, value_name = "UNIT", conflicts_with_all = ["targets", "container", "pod", "cgroup"])]
    pub(crate) service: Option<String>,

    /// All processes of the container with this ID. The first 3 digits of the ID, or more, are
    /// enough. Docker, Podman and Kubernetes are supported
    #[arg(long, value_name = "ID", conflicts_with_all = ["targets", "pod", "cgroup"])]
    pub(crate) container: Option<String>,

    /// All processes of this Kubernetes pod. POD is its name, NAMESPACE/NAME, or its UID. dwell
    /// must run on the node: it finds names in /var/log/pods
    #[arg(long, value_name = "POD", conflicts_with_all = ["targets", "cgroup"])]
    pub(crate) pod: Option<String>,

    /// All processes of this cgroup and its descendants. The path is in the file system, or
    /// relative to the root cgroup. `/` is the whole host
    #[arg(long, value_name = "PATH", conflicts_with = "targets")]
    pub(crate) cgroup: Option<PathBuf>,

    /// Duration (`500ms`, `10s`, `1h`) [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = units::seconds_ns)]
    pub(crate) length_ns: Option<u64>,

    /// Record a window in each interval of TIME (`10m`, `1h`), at a random moment in it, until
    /// Ctrl-C. The target is looked for each time, so a PID is none. Each result is kept. Files
    /// that are named (--json, --keep and so on) are replaced by each window
    #[arg(long = "every", value_name = "TIME", value_parser = units::seconds_ns, requires = "length_ns",
          conflicts_with = "pids")]
    pub(crate) every_ns: Option<u64>,

    /// Skip the window if the host is short of CPUs or memory: tasks waited for a CPU in more than
    /// 50 % of the last 10 s, or for memory in more than 10 % (/proc/pressure); or less than 128
    /// MiB of memory are free. Where the kernel has no /proc/pressure: the load is more than 2 per
    /// CPU. Standard error says why
    #[arg(long)]
    pub(crate) skip_if_busy: bool,

    /// Ask Java virtual machines (JDK 17 or newer) for the names of compiled code. This happens
    /// after the recording, as with `jcmd PID Compiler.perfmap`: the JVM gets SIGQUIT and writes
    /// /tmp/perf-PID.map
    #[arg(long)]
    pub(crate) jvm_names: bool,

    #[command(flatten)]
    pub(crate) watching: WatchArgs,

    #[command(flatten)]
    pub(crate) page: PageArgs,

    /// Print no report and no progress (write files only)
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Analyse a kept recording again, or show a kept result
///
/// The report goes to standard output.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dwell show run.dwell\n  dwell show run.json\n  dwell show --flame run.dwell\n  dwell show run.dwell --what-if fsync=0\n  dwell show run.dwell --what-if lock=0 cpus=8 --json what-if.json"
)]
pub(crate) struct ShowArgs {
    /// A recording, a result, or the ID of a kept result. Recordings are written by `dwell run
    /// --keep` and `dwell attach --keep`; results by --json of any verb, or by hyperfine
    /// --export-json. IDs are in `dwell list`; `last` and `last-1` work as well
    #[arg(value_name = "FILE|ID")]
    pub(crate) recording: PathBuf,

    /// Replay the recording with edits, and show its new wall clock. An edit is a name with a
    /// factor, or with a longest duration for each operation: `fsync=0`, `lock=0`,
    /// `lock:0x7f01a2b3c4d0=0`, `'tcp 10.0.0.7:5432'=1ms`, `file:/path=0`, `program:NAME=0`,
    /// `user:FUNCTION=0.5`, `name-lookups=0`, `sleep=0`, `disk=0`, `network=0`, `fault=0`,
    /// `runqueue=0`. Other edits are `cpus=8` and `quota=none`. Works for recordings of `dwell run`
    /// with BPF only
    #[arg(long, value_name = "EDIT", num_args = 1.., conflicts_with_all = ["work", "flame", "lines", "annotate"])]
    pub(crate) what_if: Vec<String>,

    #[command(flatten)]
    pub(crate) page: PageArgs,
}

/// Make a page for a browser of kept results
///
/// The page is one HTML file, which needs no network. It has the words and figures of the terminal,
/// charts over time, a flame graph, tables that sort and filter, and the results themselves, which
/// `dwell show` can read from it. Several results of one kind stand side by side.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dwell report last -o page.html\n  dwell report run.dwell -o page.html\n  dwell report before.json after.json -o both.html\n  dwell report last-1 last -o both.html\n  dwell show page.html"
)]
pub(crate) struct ReportArgs {
    /// Recordings, results, pages, or IDs of kept results. Recordings are written by --keep,
    /// results by --json of any verb. IDs are in `dwell list`; `last` and `last-1` work as well
    #[arg(value_name = "FILE|ID", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Write the page to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub(crate) output: OutputPath,
}

/// Explain a cause: what it is, why it is slow, how it is found, what to change
///
/// Without CAUSE, all causes are listed. The text goes to standard output.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  dwell explain\n  dwell explain sync-writes")]
pub(crate) struct ExplainArgs {
    /// The cause, as the report of `dwell run` names it
    #[arg(value_name = "CAUSE")]
    pub(crate) cause: Option<String>,

    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// Print completions of the command line for a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dwell completions bash > ~/.local/share/bash-completion/completions/dwell\n  dwell completions fish > ~/.config/fish/completions/dwell.fish"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Write the manual pages into a directory
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  dwell man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The directory; it must exist
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// Show what dwell can observe on this host
///
/// Tries everything that the other commands use, as the current user. For what does not work, it
/// prints the command that would change that. Nothing is changed. It takes half a second.
///
/// The page goes to standard output. The exit status is 0, whether or not everything works.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  dwell doctor\n  sudo dwell doctor\n  dwell doctor --json doctor.json")]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) forms: FormArgs<Doctor>,

    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// Measure the latency of each level of this machine
///
/// The levels are core cycles, caches, memory, the kernel, files and the network, on one
/// logarithmic axis. The measurement takes up to 30 seconds and needs no privileges. The page goes
/// to standard output.
///
/// Ctrl-C ends the measurement early and shows the results so far; the exit status is then 128 plus
/// the signal number. The exit status is 125 if none of the requested rungs could be measured.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dwell ladder\n  dwell ladder --quick --only memory\n  dwell ladder --only l1,l2,dram --json ladder.json\n  dwell ladder --only files --dir /var/lib/db\n  dwell ladder --only network --host db.example:5432\n  dwell ladder --beside epyc-9654,ladder.json\n  dwell ladder --kept\n  dwell ladder --list"
)]
pub(crate) struct LadderArgs {
    /// Take 5 seconds instead of 30, with wider intervals
    #[arg(long)]
    pub(crate) quick: bool,

    /// Measure only these levels (rungs) or groups. Their names are in --list
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Measure files in DIR [default: the current directory]. All files are made in one new
    /// directory, take at most 5 % of the free space, and are removed at the end
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// Also measure the network path to these hosts (port 443, or NAME:PORT). By default no packet
    /// leaves this host
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) host: Vec<String>,

    /// Show other machines beside this one. They take the place of textbook figures. A machine is a
    /// reference machine with published figures (xeon-6962p, epyc-9654, epyc-9224, graviton2,
    /// graviton4, imx8m-plus), a file written by --json, or a kept ladder (its ID in `dwell list`,
    /// `last`, `last-1`)
    #[arg(long, value_name = "NAME|FILE", value_delimiter = ',')]
    pub(crate) beside: Vec<String>,

    /// List the available levels (rungs), and exit
    #[arg(long)]
    pub(crate) list: bool,

    /// Show the kept ladder of this host and exit
    #[arg(long, conflicts_with_all = ["quick", "only", "dir", "host", "list", "no_keep"])]
    pub(crate) kept: bool,

    /// Do not keep the ladder. By default, a complete ladder becomes the kept one of this host, and
    /// `dwell run` compares waits with it. A quick ladder does not replace a full one. Without a
    /// store, the ladder is kept in $XDG_CACHE_HOME/dwell (~/.cache/dwell)
    #[arg(long)]
    pub(crate) no_keep: bool,

    #[command(flatten)]
    pub(crate) outputs: OutputArgs<LadderResult>,
}

/// Compare two kept results, or more than two comparisons
///
/// A and B are files, or IDs of kept results (in `dwell list`; `last` and `last-1` work as well).
/// The page goes to standard output. It also lists how the setups differ. Only ladders and
/// latencies have images.
///
/// Two runs (`dwell run --json`): how much the wall clocks differ, and where. The difference is
/// divided by state and place, whose parts add up to it, then by system call, function, line, wait,
/// peer and file. There is no verdict, since one run has no spread.
///
/// Two or more comparisons (`dwell compare --json`): their ratios and verdicts, and how much the
/// ratios differ between the comparisons, next to what their intervals explain.
///
/// Two ladders (`dwell ladder --json`): both medians of each rung, their ratio with its 95 %
/// interval, and whether B is faster, slower, the same, or undecided. Images show B's bars with A's
/// medians marked.
///
/// Two results of `dwell wake --json`, two sheets (compared case by case), or one of each:
/// percentiles with their 95 % intervals, maximum latencies, and whether B's are lower (earlier),
/// higher (later), the same, or undecided. Either file may be from another tool: cyclictest
/// (--json, -q, -h, --histfile), jitterdebugger, rtla timerlat hist and top, rtla osnoise hist.
///
/// Two files of hyperfine (--export-json, of version 1 or 2), or one and a result of `dwell compare
/// --json`: the medians of commands with the same name, without a verdict.
///
/// Two scores (`dwell lab --score --json`), or two results of one pair (`dwell lab NAME --json`):
/// causes found first, predictions that held, scores and widths of the intervals, and what changed
/// for each pair.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dwell diff last-1 last\n  dwell diff before.json after.json\n  dwell diff monday.json tuesday.json friday.json\n  dwell diff --png both.png mine.json yours.json\n  dwell diff cyclictest-2019.txt today.json"
)]
pub(crate) struct DiffArgs {
    /// The baseline: a file, or the ID of a kept result
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,

    /// The result to compare with it
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,

    /// More results of `dwell compare --json`
    #[arg(value_name = "MORE")]
    pub(crate) more: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) forms: FormArgs<LadderDiffResult>,

    /// Write the page to FILE, as text or in the form that its name ends in (`.html`, `.json`);
    /// `-`: standard output
    #[arg(id = "page_to", short = 'o', long = "output", value_name = "FILE")]
    pub(crate) page_to: Option<OutputPath>,

    /// Print no page (write files only)
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// How to observe, and where to keep the recording.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Keep the recording in FILE, for `dwell show`
    #[arg(long, value_name = "FILE")]
    pub(crate) keep: Option<PathBuf>,

    /// Limit the recording to SIZE; the report still covers the whole run
    #[arg(long, value_name = "SIZE", default_value = "200M", value_parser = units::bytes, requires = "keep")]
    pub(crate) keep_limit: u64,

    /// Source of events
    #[arg(long, value_enum, default_value_t)]
    pub(crate) source: Source,

    /// Sampling rate per CPU: `99`, `5kHz` [default: 2000 for the first 50 ms, then 335; without
    /// BPF 1000 to run, 335 to attach]
    #[arg(long, value_name = "HZ", value_parser = sampling_rate)]
    pub(crate) rate: Option<NonZeroU32>,

    /// Limit dwell's overhead to PERCENT of the program's CPU time. If tracing every syscall would
    /// exceed the limit, syscalls are traced in windows of time. If counting them would exceed it
    /// too, they are also counted in windows. `none` traces every syscall [default: 5% for run,
    /// which also counts every syscall; 2% for attach]
    #[arg(long, value_name = "PERCENT", value_parser = max_overhead)]
    pub(crate) max_overhead: Option<MaxOverhead>,

    /// Set the capacity of a network link: `eth0=10M`; `eth0=10M,half` for half duplex
    #[arg(long, value_name = "NAME=BITS[,half]", value_parser = link)]
    pub(crate) link: Vec<GivenLink>,

    /// Also trace name lookups (getaddrinfo), whether /etc/hosts, a local resolver or DNS answers
    /// them. Adds about 0.2 s at exit
    #[arg(long)]
    pub(crate) names: bool,

    /// Do not read what requests ask for. By default the first bytes of a request that the program
    /// receives are read for its method and path, or its command; only those are kept, without
    /// numbers and parameters
    #[arg(long)]
    pub(crate) no_text: bool,

    /// What is accounted for as one piece of work: `request`, a turn of a connection on which the
    /// program serves; `cycle`, what a thread does from the end of a sleep to the beginning of the
    /// next one; `cycle=NAME`, of the threads of that name only; FUNCTION, from its entry to its
    /// return, of native code; `usdt:PROVIDER:NAME`, from the probe NAME__start to NAME__done, or
    /// from each NAME to the next. `@FILE` after it names the file that has it, if that is not the
    /// program's own
    #[arg(long, value_name = "UNIT", default_value = "request", value_parser = unit::unit)]
    pub(crate) unit: UnitArg,

    /// Count requests, or what --unit names, that take longer than TIME (`5ms`), and show these as
    /// slow ones
    #[arg(long, value_name = "TIME", value_parser = units::duration_ns, visible_alias = "deadline")]
    pub(crate) slower_than: Option<Ns>,
}

impl WatchArgs {
    /// The settings for `observe`. `by_default`: the bound of the overhead where none is given.
    pub(crate) fn watching(&self, by_default: MaxOverhead) -> Watching {
        Watching {
            source: match self.source {
                Source::Auto => Choice::Auto,
                Source::Bpf => Choice::Bpf,
                Source::Perf => Choice::Perf,
                Source::Proc => Choice::Proc,
            },
            rate: self.rate.map_or(Rate::ByAge, Rate::hertz),
            max_overhead: self.max_overhead.unwrap_or(by_default),
            links: self.link.clone(),
            names: self.names,
            kinds: !self.no_text && self.unit == UnitArg::Request,
            units: Units { deadline_ns: self.slower_than, ..self.unit.units() },
            unit_probes: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Source {
    /// The best of these that this host permits
    #[default]
    Auto,
    /// Every switch, wake-up and system call, traced by BPF
    Bpf,
    /// Every switch from perf events, and snapshots of /proc for the rest
    Perf,
    /// Poll /proc
    Proc,
}

/// The probe that was asked for, or any that needs no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProbeArg(pub(crate) Option<Probe>);

/// Parses the name of a probe.
fn probe(text: &str) -> Result<ProbeArg, String> {
    if text.is_empty() {
        return Ok(ProbeArg(None));
    }
    let names = || Probe::ALL.map(Probe::id).join(", ");
    Probe::named(text).map(|probe| ProbeArg(Some(probe))).ok_or_else(|| format!("there are: {}", names()))
}

/// Parses `5%`, `5`, `none`: a share of the program's CPU time.
fn max_overhead(text: &str) -> Result<MaxOverhead, String> {
    if text == "none" {
        return Ok(MaxOverhead::Unbounded);
    }
    let percent = units::percent(text).or_else(|| text.parse().ok());
    match percent.ok_or_else(|| "not a percentage; try: 2% or none".to_owned())? {
        percent if percent > 0.0 && percent <= 100.0 => Ok(MaxOverhead::All(percent / 100.0)),
        _ => Err("more than 0% and at most 100%; for exact counts at any cost: none".to_owned()),
    }
}

/// Parses `99`, `5kHz`: samples a second.
fn sampling_rate(text: &str) -> Result<NonZeroU32, String> {
    const MOST: f64 = 20_000.0;
    let hertz = units::hertz(text).map_err(|error| error.to_string())?;
    let whole = (hertz.fract() == 0.0 && hertz <= MOST).then_some(hertz as u32).and_then(NonZeroU32::new);
    whole.ok_or_else(|| "samples per second are whole numbers from 1 to 20000 (20kHz)".to_owned())
}

/// Parses `eth0=10M`, `eth0=10M,half`: a link and its capacity.
fn link(text: &str) -> Result<GivenLink, String> {
    let wrong = || "not a link; try: eth0=10M or eth0=10M,half".to_owned();
    // A name may have any character but a slash and a blank.
    let (name, can) = text.rsplit_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
    let (speed, half_duplex) = match can.split_once(',') {
        None => (can, false),
        Some((speed, "half")) => (speed, true),
        Some((speed, "full")) => (speed, false),
        Some(_) => return Err(wrong()),
    };
    let bits = units::bits_per_s(speed).map_err(|error| error.to_string())?;
    Ok(GivenLink { name: name.to_owned(), bits, half_duplex })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::out::OutputPath;
    use clap::CommandFactory;

    fn parsed(line: &[&str]) -> RunArgs {
        let Verb::Run(args) = Cli::try_parse_from([["dwell", "run"].as_slice(), line].concat()).unwrap().verb
        else {
            panic!("not a run");
        };
        args
    }

    fn refused(line: &[&str]) -> String {
        Cli::try_parse_from([&["dwell"], line].concat()).unwrap_err().to_string()
    }

    #[test]
    fn the_definitions_are_valid() {
        Cli::command().debug_assert();
    }

    /// Examples of the documents: what a reader types must be a command line. That of
    /// docs/ci.md is a script, which `it/ci.rs` runs.
    #[test]
    fn the_examples_of_the_documents_are_command_lines() {
        let documents = [
            "README.md",
            "docs/guide.md",
            "docs/examples.md",
            "docs/exports.md",
            "docs/fleet.md",
            "skills/dwell/SKILL.md",
        ];
        let mut seen = 0;
        for document in documents {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
            let text = std::fs::read_to_string(&path).unwrap();
            // The word after the three marks; none outside of a block.
            let mut block: Option<&str> = None;
            for line in text.lines() {
                if let Some(kind) = line.strip_prefix("```") {
                    block = if block.is_some() { None } else { Some(kind) };
                    continue;
                }
                // A line to type, or what was typed above its output.
                let typed = match block {
                    Some("sh") => Some(line),
                    Some("") => line.strip_prefix("$ ").or_else(|| line.strip_prefix("# ")),
                    _ => None,
                };
                let Some(typed) = typed.map(|typed| typed.strip_prefix("sudo ").unwrap_or(typed)) else {
                    continue;
                };
                if !typed.starts_with("dwell ") {
                    continue;
                }
                let typed = typed.split(" # ").next().unwrap_or(typed).split(" > ").next().unwrap_or(typed);
                let words = shlex::split(typed).unwrap_or_else(|| panic!("{document}: {line}"));
                let parsed = command().try_get_matches_from(words);
                assert!(parsed.is_ok(), "{document}: {line}: {}", parsed.unwrap_err());
                seen += 1;
            }
        }
        assert!(seen >= 110, "{seen}");
    }

    #[test]
    fn arguments_after_the_program_are_its_own() {
        assert_eq!(
            parsed(&["ls", "-l", "--json", "x", "--", "y"]).command,
            ["ls", "-l", "--json", "x", "--", "y"]
        );
        assert_eq!(parsed(&["-q", "--", "-odd", "-q"]).command, ["-odd", "-q"]);
        assert_eq!(parsed(&["--", "ls", "--", "-l"]).command, ["ls", "--", "-l"]);
        assert!(parsed(&["-q", "ls"]).quiet);
    }

    #[test]
    fn an_unknown_option_is_not_a_program() {
        assert!(refused(&["run", "--jsn", "x", "ls"]).contains("--jsn"));
        assert!(refused(&["run"]).contains("CMD"));
        assert!(refused(&["run", "--width", "0", "ls"]).contains("width"));
    }

    #[test]
    fn a_dash_is_standard_output() {
        let args = parsed(&["--json", "-", "-o", "page", "true"]);
        assert_eq!(args.page.forms.get("json"), Some(&OutputPath::Stdout));
        assert_eq!(args.page.output, Some(OutputPath::File("page".into())));
    }

    #[test]
    fn a_target_is_given_in_one_way() {
        assert!(refused(&["attach"]).contains("TARGET"));
        assert!(refused(&["attach", "12", "--cgroup", "/x"]).contains("cannot be used with"));
        assert!(
            refused(&["attach", "--container", "3f2a91", "--service", "x"]).contains("cannot be used with")
        );
        assert!(Cli::try_parse_from(["dwell", "attach", "12", "nginx", "--for", "1s"]).is_ok());
    }

    #[test]
    fn rates_and_overheads_have_their_ranges() {
        let rate = |text| parsed(&["--rate", text, "true"]).watching.rate.map(NonZeroU32::get);
        assert_eq!(["99", "5kHz", "20000"].map(rate), [Some(99), Some(5_000), Some(20_000)]);
        assert!(refused(&["run", "--rate", "fast", "true"]).contains("not a frequency: \"fast\"; try: 1000"));
        for wrong in ["0", "0.5", "21kHz", "-1", ""] {
            assert!(sampling_rate(wrong).is_err(), "{wrong:?}");
        }
        assert!(matches!(max_overhead("5"), Ok(MaxOverhead::All(share)) if share == 0.05));
        assert!(matches!(max_overhead("100%"), Ok(MaxOverhead::All(share)) if share == 1.0));
        for wrong in ["200", "200%", "0", "-1", "NaN", "1e9"] {
            assert!(max_overhead(wrong).unwrap_err().contains("at most 100%"), "{wrong:?}");
        }
        assert!(max_overhead("much").unwrap_err().contains("try: 2%"));
    }

    #[test]
    fn pids_may_be_given_as_perf_and_strace_take_them() {
        let Verb::Attach(args) =
            Cli::try_parse_from(["dwell", "attach", "-p", "1,2", "--pid", "3"]).unwrap().verb
        else {
            panic!("not an attach");
        };
        assert_eq!(args.pids, [1, 2, 3]);
        assert!(refused(&["attach", "-p", "x"]).contains("-p"));
        assert!(refused(&["attach", "-p", "1", "--cgroup", "/x"]).contains("cannot be used with"));
    }

    #[test]
    fn links_have_a_name_and_a_capacity() {
        let args = parsed(&["--link", "eth0=10M", "--link", "a=b=2.5g,half", "true"]);
        let link = |name: &str, bits, half_duplex| GivenLink { name: name.into(), bits, half_duplex };
        assert_eq!(args.watching.link, [link("eth0", 10_000_000, false), link("a=b", 2_500_000_000, true)]);
        for wrong in
            ["", "eth0", "=10M", "eth0=", "eth0=10X", "eth0=10M,quarter", "eth0=0", "eth0=-1", "eth0=inf"]
        {
            assert!(super::link(wrong).is_err(), "{wrong:?}");
        }
    }
}
