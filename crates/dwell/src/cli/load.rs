//! The arguments of `dwell load`, and a load as an argument.

use crate::out::OutputArgs;
use clap::Args;
use model::units;
use model::wake::load::Load;
use model::wake::load::LoadRun;
use std::thread::available_parallelism;

/// Run a stress load and report its rate
///
/// Runs one load for the given time, or until Ctrl-C. `sched` sends messages between groups of
/// processes or threads, like hackbench. `memory` copies and verifies. `disk` writes past the page
/// cache, reads back and verifies. `network` plays ping-pong over loopback. `cpu` computes. `irq`
/// makes timer interrupts. Temporary files are removed.
///
/// The exit status is 0; 1 if memory, a disk or the network returned wrong data; 128 plus the
/// signal number if the load was ended early; 125 if it could not run, or a worker failed.
#[derive(Debug, Args)]
#[command(
    after_help = "Loads and their parameters, with defaults (N: the number of CPUs; sizes and rates may have units):\n  \
        sched:groups=10,pairs=20,message=100,transport=sockets,workers=processes\n                               \
        transport=pipes, workers=threads\n  memory:threads=N,size=256MiB\n  \
        disk:threads=1,size=16MiB,dir=DIR        dir= comes last [default: the directory for temporary files]\n  \
        network:threads=1,message=1000\n  cpu:threads=N\n  irq:threads=N,rate=1k\n\nExamples:\n  dwell load sched\n  \
        dwell load sched:message=128,transport=pipes --for 1m\n  dwell load memory:threads=2,size=1GiB --for 1h\n  \
        dwell load disk:threads=4,dir=/var/tmp --json disk.json"
)]
pub(crate) struct LoadArgs {
    /// The load: NAME, or NAME:key=value,… Without it, all are listed
    #[arg(value_name = "LOAD", value_parser = load)]
    pub(crate) load: Option<Load>,

    /// Duration (`500ms`, `10s`, `1h`)
    #[arg(long = "for", value_name = "TIME", value_parser = units::seconds_ns, default_value = "10s")]
    pub(crate) length_ns: u64,

    #[command(flatten)]
    pub(crate) outputs: OutputArgs<LoadRun>,

    /// Report when all workers are running, and exit on EOF of standard input: how dwell runs its
    /// own loads
    #[arg(long, hide = true, requires = "json")]
    pub(crate) supervised: bool,
}

/// A load, whose defaults are for the CPUs that dwell may use.
pub(crate) fn load(text: &str) -> Result<Load, String> {
    let cpus = available_parallelism().map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX));
    loads::spec::parse(text, cpus)
}

#[cfg(test)]
mod tests {
    use crate::cli::{Cli, Verb};
    use clap::Parser;
    use model::wake::load::Load;

    #[test]
    fn a_load_is_named_and_bounded() {
        let parsed = |words: &[&str]| Cli::try_parse_from([&["dwell", "load"], words].concat());
        let Verb::Load(args) = parsed(&["cpu:threads=3"]).unwrap().verb else { panic!("not a load") };
        assert_eq!((args.load, args.length_ns), (Some(Load::Cpu { threads: 3 }), 10_000_000_000));
        let Verb::Load(args) = parsed(&["cpu", "--for", "5"]).unwrap().verb else { panic!("not a load") };
        assert_eq!(args.length_ns, 5_000_000_000);
        let error = parsed(&["tea"]).unwrap_err().to_string();
        assert!(error.contains("one of sched"), "{error}");
        assert!(parsed(&["cpu", "--for", "0s"]).is_err());
        assert!(parsed(&["cpu", "--supervised"]).is_err());
        assert!(parsed(&[]).is_ok());
    }
}
