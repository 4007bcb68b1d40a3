//! The command line: what may be said, and how it is explained.

mod load;
mod wake;

use crate::out::run::CODE;
use crate::out::{FormArgs, LadderDiffResult, LadderResult, OutputPath, RunResult};
use analyse::extrapolate::Work;
use clap::{Args, Parser, Subcommand, ValueEnum};
pub(crate) use load::{LoadArgs, load};
use model::units;
use observe::{Choice, GivenLink, MaxOverhead, Rate, Watching};
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
pub(crate) use wake::{Cpus, WakeArgs};

/// Where did the wall clock go?
#[derive(Debug, Parser)]
#[command(name = "dwell", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Run(RunArgs),
    Attach(AttachArgs),
    Show(ShowArgs),
    Ladder(LadderArgs),
    Wake(WakeArgs),
    Diff(DiffArgs),
    Load(LoadArgs),
}

/// Run a program and show where its wall-clock time went
///
/// The report goes to standard error, so that the program's own output stays clean. The exit status is the
/// program's own (128 and the signal when it was killed); 125 when dwell itself failed, 126 when the program
/// cannot be executed, 127 when it is not found.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dwell run ls -lR /usr\n  dwell run --json run.json -- make -j2\n  sudo dwell run --user \"$USER\" -- ./server"
)]
pub(crate) struct RunArgs {
    /// Run the program as this user (name or number)
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,

    #[command(flatten)]
    pub(crate) watching: WatchArgs,

    /// Count executions of each basic block of FUNCTION exactly, by single-stepping the program; without FUNCTION,
    /// of all functions. No times: a step takes some 30 us. FUNCTION@FILE finds the function in FILE instead of the
    /// program
    #[arg(long, value_name = "FUNCTION", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) count_blocks: Option<String>,

    /// Count executions of each line of a Python program (3.12 or later) exactly, in all its threads and Python child
    /// processes; with FUNCTION, show all of its lines. No times: counting makes Python 2 to 20 times slower
    #[arg(long, value_name = "FUNCTION", num_args = 0..=1, require_equals = true, default_missing_value = "",
          conflicts_with = "count_blocks")]
    pub(crate) hits: Option<String>,

    /// When the program has ended, measure what operations cost on this host (a quick `dwell ladder`, about 5 seconds; its
    /// files are in the current directory), keep that where none of full length is kept, and compare the program's waits with it
    #[arg(long, conflicts_with_all = ["count_blocks", "hits"])]
    pub(crate) ladder: bool,

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
/// Watches processes with all their threads, children, and what they start, from now until Ctrl-C, their end, or the
/// time given; they are neither stopped nor changed. The report goes to standard error and leads with the threads that did
/// something: a server's path has no end. The exit status is dwell's own: 0, or 125 when it failed.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  sudo dwell attach 1234 --for 10s\n  sudo dwell attach nginx --for 1m --json nginx.json\n  sudo dwell attach --service postgresql --for 30s\n  sudo dwell attach --container 3f2a91 --for 10s\n  sudo dwell attach --cgroup system.slice/cron.service --for 10s"
)]
pub(crate) struct AttachArgs {
    /// Process numbers, or names of processes (as `ps -o comm` has them, or of their executables)
    #[arg(value_name = "TARGET", required_unless_present_any = ["service", "container", "cgroup"])]
    pub(crate) targets: Vec<String>,

    /// All processes of this systemd unit: the system's, else a user's
    #[arg(long, value_name = "UNIT", conflicts_with_all = ["targets", "container", "cgroup"])]
    pub(crate) service: Option<String>,

    /// All processes of the container whose identifier begins so (Docker, Podman, Kubernetes)
    #[arg(long, value_name = "ID", conflicts_with_all = ["targets", "cgroup"])]
    pub(crate) container: Option<String>,

    /// All processes of this control group and those below it, by its path in the file system or from the root of the groups
    #[arg(long, value_name = "PATH", conflicts_with = "targets")]
    pub(crate) cgroup: Option<PathBuf>,

    /// Duration (`500ms`, `10s`, `1h`) [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = units::duration_ns)]
    pub(crate) length_ns: Option<u64>,

    #[command(flatten)]
    pub(crate) watching: WatchArgs,

    #[command(flatten)]
    pub(crate) page: PageArgs,

    /// Print no report and no progress (write files only)
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Analyse a kept recording again
///
/// The report goes to standard output.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A file written by `dwell run --keep` or `dwell attach --keep`
    #[arg(value_name = "FILE")]
    pub(crate) recording: PathBuf,

    #[command(flatten)]
    pub(crate) page: PageArgs,
}

/// Measure what each level of latency costs on this machine
///
/// From a cycle of the core to caches, memory, the kernel, files and the network, on one logarithmic axis. Takes up to 30
/// seconds and needs no privileges. The page goes to standard output. Ctrl-C ends it early and shows what there is;
/// the exit status is then 128 and the signal. It is 125 when nothing that was asked for could be measured.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dwell ladder\n  dwell ladder --quick --only memory\n  dwell ladder --only l1,l2,dram --json ladder.json\n  dwell ladder --only files --dir /var/lib/db\n  dwell ladder --only network --host db.example:5432\n  dwell ladder --beside epyc-9654,ladder.json\n  dwell ladder --kept\n  dwell ladder --list"
)]
pub(crate) struct LadderArgs {
    /// Take 5 seconds instead of 30; intervals get wider
    #[arg(long)]
    pub(crate) quick: bool,

    /// Measure these rungs or groups only, by the names that --list gives
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Measure files in DIR; default: the current directory. All that is written there is in one directory of its own, takes
    /// at most a twentieth of the free room, and is removed at the end
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// Also measure the way to these hosts (port 443, or NAME:PORT); without it nothing leaves this host
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) host: Vec<String>,

    /// Show other machines beside this one, instead of textbook figures: a reference machine with published figures
    /// (xeon-6962p, epyc-9654, epyc-9224, graviton2, graviton4, imx8m-plus), or a file that --json wrote
    #[arg(long, value_name = "NAME|FILE", value_delimiter = ',')]
    pub(crate) beside: Vec<String>,

    /// List available rungs and exit
    #[arg(long)]
    pub(crate) list: bool,

    /// Show the last whole ladder of this host again, and measure nothing
    #[arg(long, conflicts_with_all = ["quick", "only", "dir", "host", "list", "no_keep"])]
    pub(crate) kept: bool,

    /// Do not keep the ladder. A whole one replaces the last of this host in $XDG_CACHE_HOME/dwell (~/.cache/dwell), where
    /// `dwell run` finds what to compare waits with; a quick one replaces none that took its time
    #[arg(long)]
    pub(crate) no_keep: bool,

    #[command(flatten)]
    pub(crate) forms: FormArgs<LadderResult>,

    /// Print no page and no progress (write files only)
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// Compare two kept results
///
/// Two ladders that `dwell ladder --json` wrote: each rung's two medians, their ratio with its 95 % interval, and whether B
/// is faster, slower, the same, or whether that is undecided. Pictures have B's bars with A's medians upon them.
///
/// Two results of `dwell wake --json`, or two sheets, case by case: percentiles with their 95 % intervals, maxima, and
/// whether B is earlier, later, the same, or whether that is undecided. In place of either may stand what another tool wrote:
/// cyclictest (--json, -q, -h, --histfile), jitterdebugger, rtla timerlat hist and top, rtla osnoise hist.
///
/// Differences in setup are listed. The page goes to standard output.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dwell diff before.json after.json\n  dwell diff --png both.png mine.json yours.json\n  dwell diff cyclictest-2019.txt today.json"
)]
pub(crate) struct DiffArgs {
    /// The first: the measure
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,

    /// The second
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,

    #[command(flatten)]
    pub(crate) forms: FormArgs<LadderDiffResult>,

    /// Print no page (write files only)
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// How a page looks.
#[derive(Debug, Default, Args)]
pub(crate) struct LookArgs {
    /// When to use colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Colour,

    /// Columns of the page; default: those of the terminal
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(20..))]
    pub(crate) width: Option<u16>,
}

/// How it is watched, and what is kept of that.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Keep the recording in FILE, for `dwell show`
    #[arg(long, value_name = "FILE")]
    pub(crate) keep: Option<PathBuf>,

    /// Cap the recording at SIZE; the report still covers the whole run
    #[arg(long, value_name = "SIZE", default_value = "200M", value_parser = units::bytes, requires = "keep")]
    pub(crate) keep_limit: u64,

    /// Where events come from; `auto` takes the best that this host allows
    #[arg(long, value_enum, default_value_t)]
    pub(crate) source: Source,

    /// Sampling rate per CPU, in Hz [default: 2000 at first, 335 later]
    #[arg(long, value_name = "HZ", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub(crate) rate: Option<u32>,

    /// Trace syscalls in slices of time where the overhead of tracing all would exceed this share of the
    /// program's time; `none` traces every syscall, whatever the overhead
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = max_overhead)]
    pub(crate) max_overhead: MaxOverhead,

    /// Override the capacity of a network link, e.g. `eth0=10M`; append `,half` for half duplex
    #[arg(long, value_name = "NAME=BITS[,half]", value_parser = link)]
    pub(crate) link: Vec<GivenLink>,

    /// Also trace name lookups (getaddrinfo), whether answered by /etc/hosts, a local resolver or DNS.
    /// Adds about 0.2 s at exit
    #[arg(long)]
    pub(crate) names: bool,
}

impl WatchArgs {
    /// How it is to be watched.
    pub(crate) fn watching(&self) -> Watching {
        Watching {
            source: match self.source {
                Source::Auto => Choice::Auto,
                Source::Bpf => Choice::Bpf,
                Source::Perf => Choice::Perf,
                Source::Proc => Choice::Proc,
            },
            rate: self.rate.and_then(NonZeroU32::new).map_or(Rate::ByAge, Rate::hertz),
            max_overhead: self.max_overhead,
            links: self.link.clone(),
            names: self.names,
        }
    }
}

/// What is reported, where to, and how it looks.
#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    #[command(flatten)]
    pub(crate) forms: FormArgs<RunResult>,

    /// Write the page to FILE (`-`: standard output)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<OutputPath>,

    /// Units of work this run completed: a number, a syscall to count, or `lines` to count lines of
    /// output to a file; with --of, shows what the whole job takes
    #[arg(long, value_name = "WORK", requires = "of", value_parser = work)]
    pub(crate) work: Option<Work>,

    /// Units of the whole job (`10M`, `1e6`)
    #[arg(long, value_name = "UNITS", requires = "work", value_parser = units::count)]
    pub(crate) of: Option<u64>,

    #[command(flatten)]
    pub(crate) code: CodeArgs,

    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// Which code, and how it is shown.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = CODE)]
pub(crate) struct CodeArgs {
    /// Show the tree of calls, on a CPU and waiting, below the report
    #[arg(long)]
    pub(crate) flame: bool,

    /// Show the source lines of FUNCTION with their share of time, below the report
    #[arg(long, value_name = "FUNCTION")]
    pub(crate) lines: Vec<String>,

    /// Show the disassembly of FUNCTION with each instruction's share of time, below the report
    #[arg(long, value_name = "FUNCTION")]
    pub(crate) annotate: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Source {
    /// The best that this host allows
    #[default]
    Auto,
    /// Every switch, wake-up and call, in the kernel
    Bpf,
    /// Every switch, from perf events
    Perf,
    /// Poll /proc
    Proc,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Colour {
    /// On terminals, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// `100`, `sendto`, `lines`.
fn work(text: &str) -> Result<Work, String> {
    if text == "lines" {
        return Ok(Work::Lines(None));
    }
    if text.starts_with(|char: char| char.is_ascii_alphabetic()) {
        return Ok(Work::Calls(text.to_owned()));
    }
    units::count(text).map(Work::Units).map_err(|error| error.to_string())
}

/// `5%`, `5`, `none`: a share of the program's time.
fn max_overhead(text: &str) -> Result<MaxOverhead, String> {
    if text == "none" {
        return Ok(MaxOverhead::Unbounded);
    }
    match units::percent(text)
        .or_else(|| text.parse().ok())
        .filter(|percent| *percent > 0.0 && *percent <= 1000.0)
    {
        Some(percent) => Ok(MaxOverhead::Share(percent / 100.0)),
        None => Err("not a share of the time: try 5% or none".to_owned()),
    }
}

/// `eth0=10M`, `eth0=10M,half`: a link and what it can do.
fn link(text: &str) -> Result<GivenLink, String> {
    let wrong = || "not a link: try eth0=10M or eth0=10M,half".to_owned();
    // A name may have any sign but a slash and a blank.
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
    fn the_definitions_are_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn what_follows_the_program_is_the_programs() {
        assert_eq!(
            parsed(&["ls", "-l", "--json", "x", "--", "y"]).command,
            ["ls", "-l", "--json", "x", "--", "y"]
        );
        assert_eq!(parsed(&["-q", "--", "-odd", "-q"]).command, ["-odd", "-q"]);
        assert_eq!(parsed(&["--", "ls", "--", "-l"]).command, ["ls", "--", "-l"]);
        assert!(parsed(&["-q", "ls"]).quiet);
    }

    #[test]
    fn an_option_that_is_none_is_not_a_program() {
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
    fn something_to_attach_to_is_given_in_one_way() {
        assert!(refused(&["attach"]).contains("TARGET"));
        assert!(refused(&["attach", "12", "--cgroup", "/x"]).contains("cannot be used with"));
        assert!(
            refused(&["attach", "--container", "3f2a91", "--service", "x"]).contains("cannot be used with")
        );
        assert!(Cli::try_parse_from(["dwell", "attach", "12", "nginx", "--for", "1s"]).is_ok());
    }

    #[test]
    fn links_have_a_name_and_a_speed() {
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
