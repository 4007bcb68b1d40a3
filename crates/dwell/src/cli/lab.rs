//! The options of `dwell lab`.

use crate::out::OutputArgs;
use clap::Args;
use model::lab::LabRun;
use model::run::Ends;
use pairs::server::Service;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Show causes on this machine, with programs that have them, and score the predictions
///
/// Without NAME, the programs are listed. Each is a pair: one way is slow for one known cause, the
/// other does the same work fast. `dwell lab NAME` runs the slow way under `dwell run`, shows the
/// change, measures both ways with `dwell compare`, and says whether the cause and the predicted
/// saving were right.
///
/// With --score, every pair runs several times at random sizes, half of the times next to a busy
/// loop on each CPU. Ctrl-C ends it with the score so far; --resume continues it.
///
/// With --quiz, a program is drawn whose name is hidden. Its page is shown without findings. Name
/// the cause and an interval of what the change saves; dwell then measures the change, and grades
/// both.
///
/// Programs work in a new directory, which is removed at the end. The page goes to standard output.
///
/// The exit status is 0; 128 plus the signal number if it was ended early; 125 if dwell or a
/// program failed.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dwell lab\n  dwell lab small-files\n  dwell lab list-nodes --size 1000000\n  dwell lab --score --json score.json\n  dwell lab --score --rounds 1 --only syncs,lookups\n  dwell lab --quiz\n  dwell lab --quiz --seed 7 --answer sync-writes --saving 40-90 --json me.json"
)]
pub(crate) struct LabArgs {
    /// A pair of programs, as `dwell lab` lists it
    #[arg(value_name = "NAME", conflicts_with = "score")]
    pub(crate) name: Option<String>,

    /// Amount of work, in the unit that the list of pairs names
    #[arg(long, value_name = "N", requires = "name", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) size: Option<u64>,

    /// Run a busy loop on each CPU at the same time
    #[arg(long, requires = "name")]
    pub(crate) beside: bool,

    /// Run the program in one WAY only, in the current directory, unobserved
    #[arg(long, value_name = "WAY", requires = "name", conflicts_with_all = ["beside", "pairs", "dir"])]
    pub(crate) run: Option<String>,

    /// Time the parts of that way, each by itself, and print them
    #[arg(long, requires = "run", hide = true)]
    pub(crate) apart: bool,

    /// Port of the server that the program talks to
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,

    /// Its address
    #[arg(long, value_name = "ADDRESS", requires = "port", hide = true, default_value_t = Ipv4Addr::LOCALHOST)]
    pub(crate) host: Ipv4Addr,

    /// Download URL, not files of the lab's own server. URL begins with http:// or https://. Only
    /// for `downloads`; may be repeated
    #[arg(long = "url", value_name = "URL", requires = "name")]
    pub(crate) urls: Vec<String>,

    /// Let the lab's own server answer after MS milliseconds [default: 60; 5 for names]. For
    /// `downloads` and `log-resolver`
    #[arg(long, value_name = "MS", conflicts_with_all = ["score", "urls"], value_parser = clap::value_parser!(u64).range(..=1500))]
    pub(crate) latency: Option<u64>,

    /// Let its server send BYTES a second on each connection [default: 1000000]. For `downloads`
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["score", "urls"], value_parser = clap::value_parser!(u64).range(1000..))]
    pub(crate) rate: Option<u64>,

    /// Only run a server, until standard input ends: `requests`, `link` or `names`
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["name", "score", "quiz"], value_parser = service)]
    pub(crate) serve: Option<Service>,

    /// Run all pairs and score the causes found and savings predicted
    #[arg(long)]
    pub(crate) score: bool,

    /// Run each pair N times
    #[arg(long, value_name = "N", requires = "score", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,

    /// Run only these pairs
    #[arg(long, value_name = "NAME", requires = "score", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Seed of the random sizes and their order, or of the quiz [default: random]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Name the cause of a program from its page, and bet on what its change saves
    #[arg(long, conflicts_with_all = ["name", "score", "serve"])]
    pub(crate) quiz: bool,

    /// The cause, in a quiz; without it, it is asked for
    #[arg(long, value_name = "CAUSE", requires_all = ["quiz", "saving"])]
    pub(crate) answer: Option<String>,

    /// What the change saves, in percent of the wall clock (`40-90`)
    #[arg(long, value_name = "LOW-HIGH", requires = "answer", value_parser = saving)]
    pub(crate) saving: Option<Ends>,

    /// Continue the score in FILE, which was written by --json and ended early
    #[arg(long, value_name = "FILE", requires = "score", conflicts_with_all = ["rounds", "only", "seed"])]
    pub(crate) resume: Option<PathBuf>,

    /// Compare the two ways in N pairs of runs [default: 10; 6 with --score]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(6..))]
    pub(crate) pairs: Option<u32>,

    /// Make the working directory in DIR [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) outputs: OutputArgs<LabRun>,
}

/// Parses `40-90`, `40-90%`: percent of the wall clock.
pub(crate) fn saving(text: &str) -> Result<Ends, String> {
    let ends = text.trim().trim_end_matches('%').trim_end().split_once('-');
    let part = |text: &str| text.trim().parse::<f64>().ok().map(|percent| percent / 100.0);
    match ends.and_then(|(lo, hi)| Some((part(lo)?, part(hi)?))) {
        Some((lo, hi)) if lo <= hi && hi <= 1.0 => Ok(Ends { lo, hi }),
        _ => Err("not an interval of percents from 0 to 100; try: 40-90".to_owned()),
    }
}

fn service(name: &str) -> Result<Service, String> {
    let of = Service::ALL.into_iter().find(|service| service.name() == name);
    of.ok_or_else(|| format!("one of {}", Service::ALL.map(Service::name).join(", ")))
}
