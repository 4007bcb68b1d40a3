//! `cargo xtask corpus`: makes the recordings of cases, and measures what the change of each saves,
//! by turns.

use super::{Case, Condition, Facts, MEASURED, Measured};
use crate::bench::quoted;
use anyhow::{Context, Result, ensure};
use clap::Args;
use model::compare::commands::Comparison;
use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Pairs of runs of a measurement: the fewest that have a 95 % interval by the signed-rank test.
const PAIRS: &str = "6";
/// A recording is not larger: it is in the repository.
const BYTES_MAX: u64 = 1_000_000;
/// How long a service may take until it listens.
const LISTENS_WITHIN: Duration = Duration::from_secs(20);

#[derive(Args)]
pub(crate) struct Options {
    /// The dwell that records [default: that of the tests]
    #[arg(long, value_name = "FILE", default_value_os_t = tested(), hide_default_value = true)]
    dwell: PathBuf,
    /// The name of this host in the recordings
    #[arg(long, value_name = "WORD")]
    host: String,
    /// Beside a load on each CPU
    #[arg(long)]
    busy: bool,
    /// Also where there is a recording
    #[arg(long)]
    again: bool,
    /// Cases [default: all]
    #[arg(value_name = "CASE")]
    names: Vec<String>,
}

fn tested() -> PathBuf {
    workshop::shell::target().join("x86_64-unknown-linux-musl/tested/dwell")
}

/// The verb.
pub(crate) fn run(mut options: Options) -> Result<()> {
    let dwell = options.dwell.canonicalize();
    options.dwell = dwell
        .with_context(|| format!("no {:?}: build it, or name another by --dwell FILE", options.dwell))?;
    let mut failed = Vec::new();
    for case in Case::all()? {
        let named = options.names.is_empty() || options.names.contains(&case.name);
        if !named {
            continue;
        }
        match record(&case, &options) {
            Ok(said) => println!("{:24} {said}", case.name),
            Err(error) => {
                println!("{:24} failed: {error:#}", case.name);
                failed.push(case.name.clone());
            }
        }
    }
    ensure!(failed.is_empty(), "{} cases failed: {}", failed.len(), failed.join(", "));
    Ok(())
}

/// Records and measures a case; says what was measured.
fn record(case: &Case, options: &Options) -> Result<String> {
    let sources: &[&str] = if case.facts.attach { &["bpf"] } else { &["bpf", "perf"] };
    let of = |source: &&str| Condition {
        host: options.host.clone(),
        busy: options.busy,
        source: (*source).to_owned(),
    };
    let conditions: Vec<Condition> = sources.iter().map(of).collect();
    let has = |condition: &Condition| case.place.join(condition.file()).exists();
    let measured = case.measured.iter().any(|one| one.host == options.host && one.busy == options.busy);
    if !options.again && measured && conditions.iter().all(has) {
        return Ok("is there".to_owned());
    }
    for package in case.facts.needs.iter().filter(|name| workshop::shell::find(name).is_none()) {
        let mut install = workshop::packages::apt_get(&["install", "--yes", "--quiet", package]);
        workshop::shell::output(&mut install)?;
    }
    let place = Place::new(case)?;
    let _load = options.busy.then(Load::begin);
    for condition in &conditions {
        place.record(case, condition, options)?;
    }
    let measured = place.measure(case, options)?;
    let said = match measured.saved {
        Some([saved, lo, hi]) => {
            format!(
                "{:.3} s, saves {:.0} % ({:.0}–{:.0})",
                measured.slow_s,
                saved * 100.0,
                lo * 100.0,
                hi * 100.0
            )
        }
        None => format!("{:.3} s", measured.slow_s),
    };
    let mut all = case.measured.clone();
    all.retain(|one| one.host != measured.host || one.busy != measured.busy);
    all.push(measured);
    fs::write(case.place.join(MEASURED), serde_json::to_string_pretty(&all)? + "\n")?;
    Ok(said)
}

/// A copy of the folder in which everything runs, with its service.
struct Place {
    folder: PathBuf,
    port: u16,
    service: Option<Child>,
}

impl Place {
    fn new(case: &Case) -> Result<Self> {
        // Root runs it: nobody else may be able to change it.
        let folder = workshop::shell::target().join("corpus").join(&case.name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        copy(&case.place, &folder)?;
        if let Some(build) = &case.facts.build {
            workshop::shell::run(Command::new("sh").within(&folder).args(["-c", build]))?;
        }
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut place = Self { folder, port, service: None };
        if let Some(service) = &case.facts.service {
            let command = place.with_port(service);
            let script = format!("exec {command}");
            let mut command = Command::new("sh").within(&place.folder);
            command.args(["-c", &script]);
            place.service = Some(command.envs(&case.facts.env).spawn()?);
            let begun = Instant::now();
            while TcpStream::connect(("127.0.0.1", port)).is_err() {
                ensure!(begun.elapsed() < LISTENS_WITHIN, "nothing listens on port {port}: {service}");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(place)
    }

    fn with_port(&self, text: &str) -> String {
        text.replace("PORT", &self.port.to_string())
    }

    /// The words of a command, with its environment.
    fn words(&self, words: &[String], environments: [&BTreeMap<String, String>; 2]) -> Vec<String> {
        let set = environments.into_iter().flatten();
        let set: Vec<String> = set.map(|(name, value)| format!("{name}={value}")).collect();
        let env = if set.is_empty() { Vec::new() } else { [vec!["env".to_owned()], set].concat() };
        env.into_iter().chain(words.iter().map(|word| self.with_port(word))).collect()
    }

    fn slow(&self, facts: &Facts) -> Vec<String> {
        self.words(&facts.slow, [&facts.env, &facts.env_slow])
    }

    fn command(&self, words: &[String]) -> Command {
        let mut command = Command::new(&words[0]).within(&self.folder);
        command.args(&words[1..]);
        command
    }

    fn record(&self, case: &Case, condition: &Condition, options: &Options) -> Result<()> {
        let kept = self.folder.join("kept.dwell");
        let mut dwell = Command::new(&options.dwell).within(&self.folder);
        dwell.env("DWELL_STORE", "off");
        if case.facts.attach {
            let slow = self.slow(&case.facts);
            let mut load = self.command(&slow).spawn()?;
            std::thread::sleep(Duration::from_millis(200));
            dwell.args(["attach", &format!(":{}", self.port), "--for", "1500ms"]);
            let done = workshop::shell::run(dwell.args(["-q", "--keep"]).arg(&kept));
            let _ = load.kill();
            load.wait()?;
            done?;
        } else {
            dwell.args(["run", "-q", "--source", &condition.source, "--keep"]).arg(&kept).arg("--");
            workshop::shell::run(dwell.args(self.slow(&case.facts)))?;
        }
        let bytes = fs::metadata(&kept)?.len();
        ensure!(bytes <= BYTES_MAX, "the recording has {bytes} bytes, and {BYTES_MAX} are allowed: do less");
        fs::copy(&kept, case.place.join(condition.file()))?;
        Ok(())
    }

    fn measure(&self, case: &Case, options: &Options) -> Result<Measured> {
        let (saved, slow_s, fast_s, pairs) = match (&case.facts.fast, case.facts.attach) {
            (Some(fast), false) => {
                let fast = self.words(fast, [&case.facts.env, &case.facts.env_fast]);
                self.compare(&self.slow(&case.facts), &fast, &options.dwell)?
            }
            _ => (None, self.time_slow(case)?, None, 1),
        };
        let (system, date) = (workshop::machine::system(), today()?);
        let (host, busy) = (options.host.clone(), options.busy);
        Ok(Measured { host, busy, system, date, pairs, slow_s, fast_s, saved })
    }

    fn time_slow(&self, case: &Case) -> Result<f64> {
        let begun = Instant::now();
        let slow = self.slow(&case.facts);
        workshop::shell::run(&mut self.command(&slow))?;
        Ok(begun.elapsed().as_secs_f64())
    }

    fn compare(&self, slow: &[String], fast: &[String], dwell: &Path) -> Result<Compared> {
        let file = self.folder.join("compared.json");
        let mut command = Command::new(dwell).within(&self.folder);
        command
            .args(["compare", "-q", "--no-why", "--pairs", PAIRS, "--json"])
            .arg(&file)
            .env("DWELL_STORE", "off");
        workshop::shell::run(command.arg(in_shell(slow)).arg(in_shell(fast)))?;
        let text = fs::read_to_string(&file)?;
        let compared: Comparison = serde_json::from_str(&text)?;
        let saved = analyse::lab::saved(&compared).first().copied().flatten();
        let pairs = compared.comparisons.first().map_or(0, |change| change.pairs.len() as u64);
        let walls: Vec<f64> =
            analyse::lab::walls(&compared).iter().map(|ns| ns.unwrap_or(0) as f64 / 1e9).collect();
        let saved = saved.map(|saved| [saved.estimate, saved.lo, saved.hi]);
        Ok((saved, walls[0], walls.get(1).copied(), pairs))
    }
}

/// What is saved, both walls in seconds, and the pairs.
type Compared = (Option<[f64; 3]>, f64, Option<f64>, u64);

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(service) = &mut self.service {
            let _ = service.kill();
            let _ = service.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A loop on each CPU, until it is dropped.
struct Load(Vec<Child>);

impl Load {
    fn begin() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let one = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        Self((0..cpus).filter_map(|_| one().ok()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

trait Quiet {
    /// In this folder, with nothing to read and nobody who reads.
    fn within(self, folder: &Path) -> Self;
}

impl Quiet for Command {
    fn within(mut self, folder: &Path) -> Self {
        self.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Wrappers of version managers stand before these, and are processes of their own.
        let path = std::env::var("PATH").unwrap_or_default();
        self.env("PATH", format!("/usr/bin:/bin:{path}"));
        self
    }
}

/// All files but recordings and what was measured.
fn copy(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if path.is_dir() {
            fs::create_dir_all(to.join(&name))?;
            copy(&path, &to.join(&name))?;
        } else if path.extension().is_none_or(|extension| extension != "dwell") {
            fs::copy(&path, to.join(&name))?;
        }
    }
    Ok(())
}

/// As one argument of `dwell compare`.
fn in_shell(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn today() -> Result<String> {
    Ok(workshop::shell::output(Command::new("date").args(["-u", "+%F"]))?.trim().to_owned())
}
