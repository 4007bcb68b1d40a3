//! Other ways to measure what a rung of `dwell ladder` measures: how each is run, and how its
//! figure is read.
//!
//! Each gives one figure a run, in nanoseconds for one operation: a median wherever the tool can
//! give one.

use super::program::compile;
use anyhow::{Context, Result, bail, ensure};
use model::ladder::Rung;
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;
use workshop::shell::{find, output, program};

/// The time of each for its figure, where it can be set: about the same as dwell's.
const SECONDS: &str = "1";
/// perf bench gives means, so there are many short runs, and the median of theirs: of a long run,
/// other programs' turns on the CPU would be a part.
const PERF_RUNS: usize = 31;

/// Another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rival {
    /// As many of dwell's own cycles as are nearest: a cache answers after whole ones.
    WholeCycles,
    /// `bench/chase.c`.
    Chase,
    /// `bench/getppid.c`.
    Getppid,
    /// By the C library's function, which returns once more.
    PerfSyscall,
    PerfPipe,
    /// With the options of the job.
    Fio(Job),
    Ioping,
    SockperfUdp,
    SockperfTcp,
}

/// What fio is asked to do, and what of its result counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Job {
    options: &'static [&'static str],
    /// The part of the result whose latencies count.
    part: &'static str,
    /// On a small file of its own, through the page cache.
    cached: bool,
}

pub(super) const RANDOM_READ: Job =
    Job { options: &["--rw=randread", "--bs=4k", "--direct=1"], part: "read", cached: false };
pub(super) const READS_AT_ONCE: Job = Job {
    options: &["--rw=randread", "--bs=4k", "--direct=1", "--numjobs=32", "--thread", "--group_reporting"],
    part: "read",
    cached: false,
};
pub(super) const SEQUENTIAL_READ: Job =
    Job { options: &["--rw=read", "--bs=1M", "--direct=1"], part: "read", cached: false };
pub(super) const SEQUENTIAL_WRITE: Job =
    Job { options: &["--rw=write", "--bs=1M", "--direct=1"], part: "write", cached: false };
pub(super) const FLUSH: Job =
    Job { options: &["--rw=randwrite", "--bs=4k", "--fsync=1"], part: "sync", cached: true };

/// Where and on which CPUs.
#[derive(Debug)]
pub(super) struct Setting {
    /// Where compiled programs lie.
    pub(super) place: PathBuf,
    /// Where files are measured.
    pub(super) dir: PathBuf,
    /// The CPU that dwell measures on, and that of the other end.
    pub(super) home: u32,
    pub(super) other: u32,
}

impl Rival {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::WholeCycles => "whole cycles",
            Self::Chase => "bench/chase.c",
            Self::Getppid => "bench/getppid.c",
            Self::PerfSyscall => "perf bench syscall basic",
            Self::PerfPipe => "perf bench sched pipe -T",
            Self::Fio(_) => "fio",
            Self::Ioping => "ioping -D",
            Self::SockperfUdp => "sockperf ping-pong",
            Self::SockperfTcp => "sockperf ping-pong --tcp",
        }
    }

    /// What to do so that it is there, when it is not.
    pub(super) fn missing(self) -> Option<String> {
        let (program, package) = match self {
            Self::WholeCycles => return None,
            Self::Chase | Self::Getppid => ("cc", "gcc"),
            Self::PerfSyscall | Self::PerfPipe => ("perf", "linux-perf"),
            Self::Fio(_) => ("fio", "fio"),
            Self::Ioping => ("ioping", "ioping"),
            Self::SockperfUdp | Self::SockperfTcp => ("sockperf", "sockperf"),
        };
        find(program).is_none().then(|| format!("{program} is not installed; try: apt-get install {package}"))
    }

    /// What must be made before it can be run.
    pub(super) fn prepare(self, place: &Path) -> Result<()> {
        match self {
            Self::Chase => compile(place, "chase"),
            Self::Getppid => compile(place, "getppid"),
            _ => Ok(()),
        }
    }

    /// One figure, in ns, of what dwell has just measured as `rung`.
    pub(super) fn figure_ns(self, rung: &str, rungs: &[Rung], setting: &Setting) -> Result<f64> {
        match self {
            Self::WholeCycles => whole_cycles_ns(rung, rungs),
            Self::Chase => chase_ns(kib_said(rungs, rung, "chased through ")? << 10, setting),
            Self::Getppid => {
                let getppid = setting.place.join("getppid").to_string_lossy().into_owned();
                pinned(setting.home, &[&getppid])?.trim().parse().context("getppid gave no time")
            }
            Self::PerfSyscall => perf_ns(&["syscall", "basic", "-l", "10000"], setting),
            Self::PerfPipe => perf_ns(&["sched", "pipe", "-T", "-l", "1000"], setting),
            Self::Fio(job) => fio_ns(job, rung, rungs, setting),
            Self::Ioping => ioping_ns(rung, rungs, setting),
            Self::SockperfUdp => sockperf_ns(&[], setting),
            Self::SockperfTcp => sockperf_ns(&["--tcp"], setting),
        }
    }
}

/// The rung of that name.
fn rung<'a>(rungs: &'a [Rung], id: &str) -> Result<&'a Rung> {
    rungs.iter().find(|rung| rung.about.id == id).with_context(|| format!("dwell has no rung {id}"))
}

/// Its median.
pub(super) fn median_ns(rungs: &[Rung], id: &str) -> Result<f64> {
    let ns = &rung(rungs, id)?.ns;
    ns.value().map(|ns| ns.median).with_context(|| format!("dwell did not measure {id}: {ns:?}"))
}

/// The number behind `before` in one of a rung's limits; in KiB, also where the limit is in MiB.
fn kib_said(rungs: &[Rung], id: &str, before: &str) -> Result<u64> {
    let said = rung(rungs, id)?.limits.iter().find_map(|limit| limit.strip_prefix(before));
    let mut words = said.with_context(|| format!("{id} does not say {before:?}"))?.split([' ', ':', ';']);
    let (number, unit) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let number: u64 = number.parse().with_context(|| format!("{id} says {before:?} of no number"))?;
    match unit {
        "KiB" => Ok(number),
        "MiB" => Ok(number << 10),
        _ => bail!("{id} says a size in {unit:?}"),
    }
}

fn whole_cycles_ns(rung: &str, rungs: &[Rung]) -> Result<f64> {
    let (ns, cycle_ns) = (median_ns(rungs, rung)?, median_ns(rungs, "cycle")?);
    Ok((ns / cycle_ns).round().max(1.0) * cycle_ns)
}

/// A program on one CPU; gives its standard output.
fn pinned(cpu: u32, words: &[&str]) -> Result<String> {
    let cpu = cpu.to_string();
    output(&mut program("taskset", &[&["-c", &cpu], words].concat()))
}

fn chase_ns(bytes: u64, setting: &Setting) -> Result<f64> {
    let chase = setting.place.join("chase").to_string_lossy().into_owned();
    let said = pinned(setting.home, &[&chase, &bytes.to_string(), "700"])?;
    let mut lines = said.lines();
    let huge_kib: u64 = lines.next().unwrap_or_default().parse().context("chase did not say its pages")?;
    ensure!(
        huge_kib << 10 >= bytes,
        "only {huge_kib} KiB of {bytes} bytes are in huge pages: not the same pages as dwell's"
    );
    lines.next().unwrap_or_default().parse().context("chase gave no time")
}

fn perf_ns(words: &[&str], setting: &Setting) -> Result<f64> {
    let words = [&["perf", "bench"], words].concat();
    let one = || perf_said_ns(&pinned(setting.home, &words)?);
    middle((0..PERF_RUNS).map(|_| one()).collect::<Result<_>>()?)
}

/// `0.708660 usecs/op`
fn perf_said_ns(said: &str) -> Result<f64> {
    let line = said.lines().find_map(|line| line.trim().strip_suffix(" usecs/op"));
    Ok(line.context("perf bench gave no usecs/op")?.trim().parse::<f64>()? * 1e3)
}

fn fio_ns(job: Job, rung: &str, rungs: &[Rung], setting: &Setting) -> Result<f64> {
    let file = setting.dir.join(if job.cached { "fio.small" } else { "fio.large" });
    let size_kib = if job.cached { 1 << 10 } else { kib_said(rungs, rung, "the working file has ")? };
    lay_out(&file, size_kib)?;
    let (file, size) = (format!("--filename={}", file.display()), format!("--size={size_kib}k"));
    let runtime = format!("--runtime={SECONDS}");
    let fixed = ["fio", "--name=rung", "--ioengine=psync", "--time_based", "--output-format=json"];
    let reported = ["--lat_percentiles=1", "--clat_percentiles=0"];
    let words = [&fixed[..], &reported, &[&file, &size, &runtime], job.options].concat();
    // Many at once are on all CPUs, as dwell's are.
    let said = if job == READS_AT_ONCE {
        output(&mut program(words[0], &words[1..]))?
    } else {
        pinned(setting.home, &words)?
    };
    fio_said_ns(job, &said)
}

/// A file that was really written: fio only reserves what it is to write, and then each first write
/// of a block changes the filesystem's tables, which dwell's do not.
fn lay_out(file: &Path, size_kib: u64) -> Result<()> {
    if fs::metadata(file).is_ok_and(|found| found.len() == size_kib << 10) {
        return Ok(());
    }
    let written = || -> std::io::Result<()> {
        let mut out = File::create(file)?;
        let mut bits = size_kib;
        for _ in 0..size_kib {
            let block: Vec<u8> = (0..128).flat_map(|_| (scramble(&mut bits)).to_le_bytes()).collect();
            out.write_all(&block)?;
        }
        out.sync_all()
    };
    written().with_context(|| format!("cannot write {}", file.display()))
}

/// Numbers that do not pack (the generator of Knuth's MMIX).
fn scramble(bits: &mut u64) -> u64 {
    *bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *bits
}

fn fio_said_ns(job: Job, said: &str) -> Result<f64> {
    // Notes may come before the JSON.
    let from = said.find('{').context("fio gave no JSON")?;
    let result: Value = serde_json::from_str(&said[from..]).context("fio's JSON cannot be read")?;
    let figure = &result["jobs"][0][job.part]["lat_ns"]["percentile"]["50.000000"];
    figure.as_f64().with_context(|| format!("fio gave no median of {}", job.part))
}

fn ioping_ns(rung: &str, rungs: &[Rung], setting: &Setting) -> Result<f64> {
    let size = format!("{}k", kib_said(rungs, rung, "the working file has ")?);
    let dir = setting.dir.to_string_lossy().into_owned();
    let limits = ["-w", SECONDS, "-i", "0", "-s", "4k", "-S", &size];
    ioping_said_ns(&pinned(setting.home, &[&["ioping", "-D"], &limits[..], &[&dir]].concat())?)
}

/// `… request=2 time=55.4 us`
fn ioping_said_ns(said: &str) -> Result<f64> {
    let time = |line: &str| {
        let (_, time) = line.split_once(" time=").filter(|_| !line.ends_with("(warmup)"))?;
        let (number, unit) = time.split_once(' ')?;
        let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
        let ns = units.iter().find(|(name, _)| *name == unit)?.1;
        Some(number.parse::<f64>().ok()? * ns)
    };
    middle(said.lines().filter_map(time).collect())
}

/// A child that does not outlive this.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn sockperf_ns(words: &[&str], setting: &Setting) -> Result<f64> {
    let port = free_port()?.to_string();
    let to = ["-i", "127.0.0.1", "-p", &port];
    let other = setting.other.to_string();
    let server = [&["-c", &other, "sockperf", "server"], &to[..], words].concat();
    let mut server = program("taskset", &server);
    let _server =
        Ended(server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("cannot start sockperf")?);
    let client = ["sockperf", "ping-pong", "-t", SECONDS, "-m", "14", "--full-rtt"];
    let client = [&client[..], &to, words].concat();
    let mut last = None;
    // Until the server listens.
    for _ in 0..20 {
        sleep(Duration::from_millis(100));
        match pinned(setting.home, &client).and_then(|said| sockperf_said_ns(&said)) {
            Ok(ns) => return Ok(ns),
            Err(error) => last = Some(error),
        }
    }
    Err(last.context("sockperf was never started")?)
}

/// A free port, of both kinds; if another program takes it before it is used, sockperf fails.
fn free_port() -> Result<u16> {
    loop {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        if UdpSocket::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
}

/// `sockperf: ---> percentile 50.000 =   16.254`, in us.
fn sockperf_said_ns(said: &str) -> Result<f64> {
    let line = said.lines().find(|line| line.contains("percentile 50.000 ="));
    let number = line.and_then(|line| line.rsplit('=').next()).context("sockperf gave no median")?;
    Ok(number.trim().parse::<f64>()? * 1e3)
}

/// The median.
pub(super) fn middle(values: Vec<f64>) -> Result<f64> {
    stats::median_of(values).context("there are no figures")
}

/// What the rivals wrote into the directory.
pub(super) fn clear(dir: &Path) {
    for name in ["fio.small", "fio.large"] {
        // Those that were not run wrote nothing.
        let _ = fs::remove_file(dir.join(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::rung;

    fn ladder() -> [Rung; 3] {
        [
            rung("cycle", Ok(0.25), &[]),
            rung("l1", Ok(1.01), &["shared by 2", "chased through 16 KiB"]),
            rung(
                "direct-read",
                Err("no disk"),
                &["the working file has 64 MiB: a cache that holds it would answer"],
            ),
        ]
    }

    #[test]
    fn sizes_are_those_that_dwell_says() {
        assert_eq!(kib_said(&ladder(), "l1", "chased through ").unwrap(), 16);
        assert_eq!(kib_said(&ladder(), "direct-read", "the working file has ").unwrap(), 64 << 10);
        assert!(kib_said(&ladder(), "cycle", "chased through ").is_err());
    }

    #[test]
    fn a_level_is_compared_with_the_nearest_whole_cycles() {
        assert_eq!(whole_cycles_ns("l1", &ladder()).unwrap(), 1.0);
        assert!(median_ns(&ladder(), "direct-read").unwrap_err().to_string().contains("no disk"));
        assert!(median_ns(&ladder(), "l9").is_err());
    }

    #[test]
    fn each_tool_s_words_are_read() {
        let perf = "# Executed\n     Total time: 0.7 [sec]\n\n       0.250000 usecs/op\n   1411113 ops/sec\n";
        assert_eq!(perf_said_ns(perf).unwrap(), 250.0);
        let sockperf =
            "sockperf: ---> percentile 75.000 =   17.1\nsockperf: ---> percentile 50.000 =   16.25\n";
        assert_eq!(sockperf_said_ns(sockperf).unwrap(), 16_250.0);
        let line = |n: u32, time: &str| format!("4 KiB <<< /d (ext4): request={n} time={time}\n");
        let ioping = line(1, "1.2 s (warmup)")
            + &line(2, "50 us")
            + &line(3, "1.5 ms")
            + &line(4, "48.5 us")
            + "---\n";
        assert_eq!(ioping_said_ns(&ioping).unwrap(), 50_000.0);
        let fio = r#"note: x
            {"jobs": [{"sync": {"lat_ns": {"percentile": {"50.000000": 7}}}}]}"#;
        assert_eq!(fio_said_ns(FLUSH, fio).unwrap(), 7.0);
        for nothing in ["", "{}"] {
            assert!(fio_said_ns(FLUSH, nothing).is_err() && perf_said_ns(nothing).is_err());
            assert!(ioping_said_ns(nothing).is_err() && sockperf_said_ns(nothing).is_err());
        }
    }
}
