//! The options of `dwell wake`.

use super::load::load;
use crate::out::OutputArgs;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use model::units::{self, UnitError};
use model::wake::Wakeups;
use model::wake::load::Load;
use model::wake::{Policy, Sleeper, WakeMode};
use model::{CpuList, Ns};
use std::path::PathBuf;

/// The priority of `SCHED_FIFO` by default: above the kernel's usual real-time threads (50), below
/// those that must run at once (99).
const PRIORITY: u32 = 80;

/// Measure the wake-up latency of timers on this machine
///
/// As with cyclictest, one thread per CPU sleeps until a given time and reads the clock when it
/// wakes up. The page shows percentiles, the largest latencies with what the kernel did around
/// them, and the settings in force. With --deadline it shows whether the deadline is met, and with
/// what confidence. Only timers are measured: the interrupt of a device takes another path.
///
/// The exit status is 0. With --deadline it is 0 if the deadline is met, 1 if it is missed, and 2
/// if that is undecided. It is 128 plus the signal number if the measurement was ended early (the
/// results so far are shown), and 125 if dwell itself failed. If a thread cannot keep its interval,
/// the measurement also ends early; the exit status is then that of the results so far.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  sudo dwell wake\n  sudo dwell wake --for 3h --deadline 125us --margin 20% --load sched\n  sudo dwell wake --cpus 2-3 --rate 8kHz --policy fifo:95 --json board.json\n  sudo dwell wake --sheet --for 1h --deadline 125us --one-in 19m --json s.json\n  sudo dwell wake --resume\n  dwell wake --policy other --sleeper timerfd\n  dwell wake --mode gap --cpus isolated"
)]
pub(crate) struct WakeArgs {
    /// CPUs to measure, with one thread each: `0-3,6`, `all` (those that dwell may use), or
    /// `isolated` (those of isolcpus or of isolated cpuset partitions)
    #[arg(long, value_name = "LIST", default_value = "all", value_parser = cpus)]
    pub(crate) cpus: Cpus,

    /// Time from one wake-up to the next [default: 199us, or the period of `deadline:`]. The
    /// default is not 200us, which would stay in phase with the kernel's tick
    #[arg(long, value_name = "TIME", value_parser = units::microseconds_ns)]
    pub(crate) interval: Option<u64>,

    /// Wake-ups per second, instead of --interval. Examples: `5kHz`, `1000`
    #[arg(long, value_name = "HZ", conflicts_with = "interval", value_parser = interval_of_rate)]
    pub(crate) rate: Option<u64>,

    /// Duration [default: 10s; 1h for each case of a sheet]
    #[arg(long = "for", value_name = "TIME", value_parser = units::seconds_ns)]
    pub(crate) length_ns: Option<u64>,

    /// Scheduling policy of the measuring threads: `fifo:PRIORITY`, `rr:PRIORITY`, `other`, or
    /// `deadline:RUNTIME/PERIOD` [default: `fifo:80`, or `other` with --mode gap]. `other` has a
    /// timer slack of 1 ns; programs have 50 us by default, which is `other:50us`. If the policy is
    /// not permitted, the best permitted one is used, with a warning
    #[arg(long, value_name = "POLICY", value_parser = policy)]
    pub(crate) policy: Option<Policy>,

    /// How threads sleep
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    pub(crate) sleeper: SleeperArg,

    /// What the threads do
    #[arg(long, value_enum, default_value_t, value_name = "MODE")]
    pub(crate) mode: ModeArg,

    /// Run a stress load during the measurement. LOAD is `sched`, `memory`, `disk`, `network`,
    /// `cpu` or `irq`, with parameters as in `sched:groups=10,message=128` (see dwell help load).
    /// May be repeated
    #[arg(long, value_name = "LOAD", value_parser = load)]
    pub(crate) load: Vec<Load>,

    /// Measure a sheet: several cases, one after another. Each case is kept when it is done.
    /// Without FILE, the cases are idle; sched with messages of 128 bytes; memory of 256 MiB with
    /// 2, with 4 and with 8 threads, the last together with disk and network. FILE has other cases:
    /// `{"name": "mine", "cases": [{"name": "idle"}, {"name": "busy", "loads": ["sched:groups=4",
    /// "disk"]}]}`
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "", conflicts_with = "load",
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(crate) sheet: Option<PathBuf>,

    /// Resume a sheet that was ended early (by Ctrl-C, a signal, a reboot). It continues on the
    /// same host with its own settings, and writes its result to the same files. A case that was
    /// cut short is measured again. Without FILE, the sheet is the newest one of this host in the
    /// current directory or in $XDG_CACHE_HOME/dwell (~/.cache/dwell). A sheet with --json is kept
    /// beside that file
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "", conflicts_with_all = [
        "sheet", "load", "cpus", "interval", "rate", "length_ns", "policy", "sleeper", "mode", "deadline", "margin", "confidence",
        "one_in", "spike", "no_spikes", "idle_states",
    ], value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(crate) resume: Option<PathBuf>,

    /// Test that no latency exceeds this deadline
    #[arg(long, value_name = "TIME", value_parser = units::microseconds_ns)]
    pub(crate) deadline: Option<u64>,

    /// Share of the deadline kept as reserve. No latency may exceed the deadline less this share
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = units::share, requires = "deadline")]
    pub(crate) margin: f64,

    /// Confidence level of the verdict
    #[arg(long, value_name = "PERCENT", default_value = "95%", value_parser = units::share, requires = "deadline")]
    pub(crate) confidence: f64,

    /// Required bound on misses per CPU. There must be fewer than one in DURATION. At 95 %
    /// confidence, the run must last three times DURATION without a miss (rule of three)
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = units::duration_ns, requires = "deadline")]
    pub(crate) one_in: u64,

    /// Trace the kernel around latencies of DURATION or more [default: the 16 largest]
    #[arg(long, value_name = "DURATION", value_parser = units::microseconds_ns)]
    pub(crate) spike: Option<u64>,

    /// Do not trace the kernel around large latencies
    #[arg(long, conflicts_with = "spike")]
    pub(crate) no_spikes: bool,

    /// Leave idle states as they are. By default, as with cyclictest, `/dev/cpu_dma_latency` keeps
    /// CPUs out of deep ones
    #[arg(long)]
    pub(crate) idle_states: bool,

    #[command(flatten)]
    pub(crate) outputs: OutputArgs<Wakeups>,
}

/// Which bare numbers were read in which unit: `--for 5` as seconds, `--deadline 100` as
/// microseconds, as cyclictest and rtla do.
pub(crate) fn bare_numbers(words: &[String]) -> Vec<String> {
    const OPTIONS: [(&str, &str); 4] =
        [("--for", "s"), ("--interval", "us"), ("--deadline", "us"), ("--spike", "us")];
    let value = |option: &str| {
        let at = words.iter().position(|word| word == option).and_then(|at| words.get(at + 1));
        at.cloned().or_else(|| {
            words.iter().find_map(|word| word.strip_prefix(option)?.strip_prefix('=').map(str::to_owned))
        })
    };
    OPTIONS
        .into_iter()
        .filter_map(|(option, unit)| Some((option, value(option).filter(|text| units::is_bare(text))?, unit)))
        .map(|(option, text, unit)| {
            format!("{option} {text} is read as {text}{unit}, as cyclictest and rtla read it")
        })
        .collect()
}

/// Options of cyclictest and rtla timerlat, by what follows the dash, and what they are here.
const OF_OTHERS: &[(&str, &str)] = &[
    ("a", "--cpus LIST; one thread per CPU is the default"),
    ("b", "--spike TIME: what the kernel did around a large latency"),
    ("c", "--cpus LIST (rtla), --sleeper clock-nanosleep (cyclictest's clock is always monotonic here)"),
    ("D", "--for TIME"),
    ("d", "--for TIME (rtla); cyclictest's distance is 0 here: all threads have the same interval"),
    ("h", "--json FILE: it has the histogram; and --help"),
    ("H", "--json FILE: it has the histogram"),
    ("i", "--interval TIME, or --rate HZ"),
    ("l", "--for TIME: the duration in place of the number of loops"),
    ("m", "nothing: memory is always locked"),
    ("M", "nothing: the page is printed at the end"),
    ("n", "--sleeper clock-nanosleep, the default"),
    ("N", "nothing: all figures have their unit"),
    ("p", "--policy fifo:PRIORITY (cyclictest), --interval TIME (rtla)"),
    ("P", "--policy fifo:PRIORITY, rr:PRIORITY, deadline:RUNTIME/PERIOD"),
    ("r", "--interval TIME"),
    ("R", "nothing: the clock's resolution is on the page"),
    ("S", "nothing: one thread per CPU is the default"),
    ("s", "--spike TIME"),
    ("t", "--cpus LIST; one thread per CPU is the default"),
    ("T", "--spike TIME"),
    ("v", "--json FILE"),
    ("x", "--sleeper posix-timer"),
    ("-affinity", "--cpus LIST"),
    ("-breaktrace", "--spike TIME"),
    ("-duration", "--for TIME"),
    ("-histogram", "--json FILE: it has the histogram"),
    ("-histofall", "--json FILE: it has the histogram"),
    ("-histfile", "--json FILE: it has the histogram"),
    ("-loops", "--for TIME"),
    ("-mlockall", "nothing: memory is always locked"),
    ("-priority", "--policy fifo:PRIORITY"),
    ("-prio", "--policy fifo:PRIORITY"),
    ("-smp", "nothing: one thread per CPU is the default"),
    ("-threads", "--cpus LIST"),
    ("-period", "--interval TIME"),
    ("-auto", "--spike TIME"),
    ("-dma-latency", "nothing: /dev/cpu_dma_latency is held at 0, unless --idle-states"),
    ("-laptop", "--idle-states"),
    ("-posix_timers", "--sleeper posix-timer"),
];

/// What an option of cyclictest or rtla is here; `option` with its dashes, as clap names it.
pub(crate) fn of_others(option: &str) -> Option<&'static str> {
    let name = option.strip_prefix('-')?;
    let name = name.split('=').next().unwrap_or(name);
    OF_OTHERS.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours)
}

/// The CPUs to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cpus {
    All,
    Isolated,
    These(CpuList),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum SleeperArg {
    /// clock_nanosleep(2) until an absolute time
    #[default]
    ClockNanosleep,
    /// timerfd_create(2) and read(2)
    Timerfd,
    /// timer_create(2), with a signal to the thread
    PosixTimer,
}

impl From<SleeperArg> for Sleeper {
    fn from(sleeper: SleeperArg) -> Self {
        match sleeper {
            SleeperArg::ClockNanosleep => Self::ClockNanosleep,
            SleeperArg::Timerfd => Self::Timerfd,
            SleeperArg::PosixTimer => Self::PosixTimer,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ModeArg {
    /// Sleep until a given time, and measure how late the wake-up is
    #[default]
    Timer,
    /// Read the clock in a loop, and measure the gaps between readings
    Gap,
}

impl From<ModeArg> for WakeMode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Timer => Self::Timer,
            ModeArg::Gap => Self::Gap,
        }
    }
}

/// Parses `0-3,6`, `all`, `isolated`.
fn cpus(text: &str) -> Result<Cpus, String> {
    match text {
        "all" => Ok(Cpus::All),
        "isolated" => Ok(Cpus::Isolated),
        _ => match text.parse::<CpuList>() {
            Ok(list) if !list.is_empty() => Ok(Cpus::These(list)),
            Ok(_) => Err("no CPU listed; try: 0-3,6, all or isolated".to_owned()),
            Err(error) => Err(format!("{error}, all or isolated")),
        },
    }
}

/// A frequency, as the time from one wake-up to the next.
fn interval_of_rate(text: &str) -> Result<Ns, UnitError> {
    units::hertz(text).map(|hertz| (1e9 / hertz).round() as Ns)
}

/// Parses `fifo:80`, `rr`, `other:50us`, `deadline:100us/1ms`.
fn policy(text: &str) -> Result<Policy, String> {
    const WRONG: &str = "not a policy; try: fifo:80, rr:10, other or deadline:100us/1ms";
    let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
    let duration = |text| units::duration_ns(text).map_err(|error: UnitError| error.to_string());
    let priority = || rest.map_or(Ok(PRIORITY), |rest| rest.parse().map_err(|_| WRONG.to_owned()));
    Ok(match name {
        "fifo" => Policy::Fifo(priority()?),
        "rr" => Policy::Rr(priority()?),
        "other" => Policy::Other(rest.map_or(Ok(1), duration)?),
        "deadline" => {
            let times: Result<Vec<u64>, String> = rest.unwrap_or_default().split('/').map(duration).collect();
            match times?[..] {
                [runtime_ns, period_ns] => Policy::Deadline { runtime_ns, deadline_ns: period_ns, period_ns },
                [runtime_ns, deadline_ns, period_ns] => {
                    Policy::Deadline { runtime_ns, deadline_ns, period_ns }
                }
                _ => return Err(WRONG.to_owned()),
            }
        }
        _ => return Err(WRONG.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::{CommandFactory, Parser};
    use model::wake::verdict::Deadline;

    fn parsed(line: &[&str]) -> WakeArgs {
        match Cli::try_parse_from([&["dwell", "wake"], line].concat()).unwrap().verb {
            Verb::Wake(args) => args,
            _ => panic!("not a wake"),
        }
    }

    fn refused(line: &[&str]) -> bool {
        Cli::try_parse_from([&["dwell", "wake"], line].concat()).is_err()
    }

    #[test]
    fn all_options_have_defaults() {
        let args = parsed(&[]);
        assert_eq!((args.cpus, args.interval, args.rate), (Cpus::All, None, None));
        assert_eq!((args.length_ns, args.policy, args.deadline), (None, None, None));
    }

    #[test]
    fn cpus_are_lists() {
        assert_eq!(cpus("0-2,5"), Ok(Cpus::These([0, 1, 2, 5].into_iter().collect())));
        assert_eq!(cpus("isolated"), Ok(Cpus::Isolated));
        for wrong in ["", "x", "3-1", "1,,2", "-1", "0-4294967295"] {
            assert!(cpus(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn rates_are_intervals() {
        let intervals = ["8kHz", "1000", "0.5Hz"].map(interval_of_rate);
        assert_eq!(intervals, [Ok(125_000), Ok(1_000_000), Ok(2_000_000_000)]);
        assert!(refused(&["--rate", "1kHz", "--interval", "1ms"]));
    }

    #[test]
    fn policies_have_their_parameters() {
        assert_eq!([policy("fifo"), policy("rr:7")], [Ok(Policy::Fifo(80)), Ok(Policy::Rr(7))]);
        assert_eq!(
            [policy("other"), policy("other:50us")],
            [Ok(Policy::Other(1)), Ok(Policy::Other(50_000))]
        );
        let deadline =
            |deadline_ns| Policy::Deadline { runtime_ns: 100_000, deadline_ns, period_ns: 1_000_000 };
        assert_eq!(policy("deadline:100us/1ms"), Ok(deadline(1_000_000)));
        assert_eq!(policy("deadline:100us/500us/1ms"), Ok(deadline(500_000)));
        for wrong in ["", "batch", "fifo:", "fifo:-1", "fifo:x", "deadline", "deadline:1ms", "other:0"] {
            assert!(policy(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn parts_are_less_than_all() {
        let args = parsed(&["--deadline", "125us", "--margin", "20%", "--confidence", "0.99"]);
        assert_eq!((args.deadline, args.margin, args.confidence), (Some(125_000), 0.2, 0.99));
        assert!(refused(&["--deadline", "125us", "--margin", "100%"]));
        assert!(refused(&["--margin", "20%"]));
    }

    #[test]
    fn deadlines_of_examples_can_be_passed_in_their_time() {
        let wake = Cli::command().find_subcommand("wake").unwrap().clone();
        let examples = wake.get_after_help().unwrap().to_string();
        let lines = examples.lines().filter_map(|line| line.split_once("dwell wake"));
        let judging = lines.map(|(_, rest)| parsed(&rest.split_whitespace().collect::<Vec<_>>()));
        let mut seen = 0;
        for args in judging.filter(|args| args.deadline.is_some()) {
            let deadline = Deadline {
                deadline_ns: args.deadline.unwrap(),
                margin: args.margin,
                confidence: args.confidence,
                one_in_ns: args.one_in,
            };
            assert!(analyse::wake::clean_ns(&deadline, 199_000) <= args.length_ns.unwrap(), "{args:?}");
            seen += 1;
        }
        assert!(seen >= 2, "{examples}");
    }

    #[test]
    fn bare_numbers_are_read_as_other_tools_read_them_and_said() {
        let args = parsed(&["--for", "5", "--deadline", "100", "--interval=1000", "--spike", "50"]);
        assert_eq!((args.length_ns, args.deadline), (Some(5_000_000_000), Some(100_000)));
        assert_eq!((args.interval, args.spike), (Some(1_000_000), Some(50_000)));
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let said = bare_numbers(&words("dwell wake --for 5 --interval=1000 --deadline 1ms"));
        assert_eq!(
            said,
            [
                "--for 5 is read as 5s, as cyclictest and rtla read it",
                "--interval 1000 is read as 1000us, as cyclictest and rtla read it"
            ]
        );
        assert!(refused(&["--for", "0"]) && refused(&["--deadline", "x"]));
    }

    #[test]
    fn options_of_cyclictest_and_rtla_are_known() {
        assert!(of_others("-D").is_some_and(|ours| ours.contains("--for")));
        assert!(of_others("--priority=80").is_some_and(|ours| ours.contains("fifo")));
        assert_eq!((of_others("-Z"), of_others("x")), (None, None));
        // None of them is an option of dwell's own already.
        let wake = Cli::command().find_subcommand("wake").unwrap().clone();
        for (theirs, ours) in OF_OTHERS {
            let own = wake
                .get_arguments()
                .any(|arg| theirs.strip_prefix('-') == arg.get_long() && arg.get_long().is_some());
            assert!(!own, "{theirs}");
            for word in ours.split(|char: char| !char.is_ascii_alphabetic() && char != '-') {
                let known = word.strip_prefix("--").is_none_or(|long| {
                    long == "help" || wake.get_arguments().any(|arg| arg.get_long() == Some(long))
                });
                assert!(known, "{theirs}: {ours}");
            }
        }
    }

    #[test]
    fn a_sheet_needs_no_file() {
        assert_eq!(parsed(&["--sheet", "--for", "1m"]).sheet, Some(PathBuf::new()));
        assert_eq!(parsed(&["--sheet", "mine"]).sheet, Some(PathBuf::from("mine")));
        assert_eq!(parsed(&[]).sheet, None);
        assert_eq!(parsed(&["--resume", "--json", "a"]).resume, Some(PathBuf::new()));
    }

    #[test]
    fn a_sheet_goes_on_with_its_own_settings() {
        for other in
            ["--margin=1%", "--confidence=90%", "--one-in=1h", "--deadline=1ms", "--cpus=0", "--for=1h"]
        {
            assert!(refused(&["--resume", "x", other]), "{other}");
        }
        assert_eq!(parsed(&["--resume", "x", "--quiet"]).resume, Some(PathBuf::from("x")));
    }
}
