//! What dwell may do on this host, each ability tried in the way that a measurement would use it.
//!
//! Nothing is left behind: programs and events are detached, and what a thread gets (a priority)
//! ends with it. What follows from the attempts is up to `analyse`.

use crate::access::{self, AccessDenial};
use crate::cgroups::Hierarchies;
use crate::counters;
use crate::realtime;
use crate::settings::{Choice, MaxOverhead, Rate, Watching};
use crate::sources::bpf;
use crate::sources::{BpfTrial, PerfTrial, try_bpf, try_perf};
use code::Kallsyms;
use host::Roots;
use model::Seen;
use model::counters::{Counter, CounterTimes};
use model::coverage::{Extent, Source};
use model::doctor::{Ability, Attempt, OTHER_PROCESSOR, Standing};
use model::wake::Policy;
use rustix::process::{Resource, getrlimit};
use std::fs::{self, OpenOptions};
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use sys::locked::Locked;
use sys::pages::{PageKind, Pages};
use sys::perf_event;
use sys::policy;

/// The size of memory that is asked for in huge pages.
const HUGE_BYTES: usize = 4 << 20;
/// The programs that make the lab's link.
const LINK_PROGRAMS: [&str; 4] = ["ip", "tc", "unshare", "nsenter"];

/// Who dwell is here.
pub fn standing() -> Standing {
    Standing {
        binary: access::this_binary(),
        uid: sys::user::effective_uid(),
        capabilities: access::capabilities(),
        container: access::container(),
        filtered: access::sandboxed().is_some(),
        sys_hidden: !Path::new("/sys/kernel").exists(),
        few_files: access::few_files().is_some(),
        debugfs: is_mounted(Path::new("/sys/kernel/debug")),
        link_programs: missing_link_programs().is_empty(),
        paranoid: perf_event::paranoid(),
        btf: Path::new("/sys/kernel/btf/vmlinux").exists(),
        kernel_too_old: bpf::too_old().is_some(),
        preempt_dynamic: realtime::can_change_preemption(),
    }
}

/// Whether debugfs is mounted here. Only root may read it.
fn is_mounted(debugfs: &Path) -> bool {
    match fs::read_dir(debugfs) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) => error.kind() == ErrorKind::PermissionDenied,
    }
}

/// Tries each ability: half a second, most of it for detaching uprobes. One attempt for each of
/// [`Ability::ALL`], in that order.
pub fn attempts() -> Vec<Attempt> {
    let _more_files = access::MoreFiles::allow();
    let mut done = bpf();
    let perf = perf();
    by_perf_events(&mut done, &perf);
    done.extend(perf);
    done.push(others(access::looking_at(1), access::pid_namespace()));
    done.push(one(Ability::Pressure, pressure(host::here())));
    done.push(one(Ability::Cgroup, cgroup()));
    done.push(hardware_counters());
    done.push(one(Ability::RealTime, real_time()));
    done.push(one(Ability::LockedMemory, locked_memory(getrlimit(Resource::Memlock).current)));
    done.push(one(Ability::IdleStates, idle_states(Path::new("/dev/cpu_dma_latency"))));
    done.push(one(Ability::Preemption, preemption()));
    done.push(huge(huge_pages(), Path::new("/sys/kernel/mm")));
    done.push(one(Ability::Links, links()));
    done
}

fn one(ability: Ability, tried: Result<(), String>) -> Attempt {
    match tried {
        Ok(()) => Attempt { ability, works: Extent::Full, why: String::new(), remedy: String::new() },
        Err(why) => Attempt { ability, works: Extent::None, why, remedy: String::new() },
    }
}

/// Process 1 stands for those of others. In a PID namespace it is one of those within.
fn others(looked: Result<(), AccessDenial>, namespace: u32) -> Attempt {
    let ability = Ability::OtherUsers;
    match looked {
        Err(denied) => one(ability, Err(denied.why)),
        Ok(()) if namespace == 0 => one(ability, Ok(())),
        Ok(()) => Attempt {
            works: Extent::Partial,
            remedy: access::of_the_host(),
            ..one(ability, Err("only those of this PID namespace can be seen".to_owned()))
        },
    }
}

/// What hangs on BPF: all of it is unavailable where the programs are refused.
fn bpf() -> Vec<Attempt> {
    let parts = [
        (Ability::BpfClock, "faults"),
        (Ability::Mappings, "code"),
        (Ability::Sockets, "sockets"),
        (Ability::Disks, "disks"),
        (Ability::Network, "network"),
        (Ability::Pages, "pages"),
        (Ability::Uprobes, "names"),
    ];
    let watching = Watching {
        source: Choice::Bpf,
        rate: Rate::ByAge,
        max_overhead: MaxOverhead::Unbounded,
        links: Vec::new(),
        names: true,
        kinds: true,
        units: Default::default(),
        unit_probes: None,
    };
    match try_bpf(&watching) {
        Err(AccessDenial { why, remedy }) => {
            let lacking = |ability| one(ability, Err("it needs BPF".to_owned()));
            let rest = parts.into_iter().map(|(ability, _)| lacking(ability));
            let bpf = Attempt { remedy, ..one(Ability::Bpf, Err(why)) };
            std::iter::once(bpf).chain(rest).collect()
        }
        Ok(BpfTrial { sources }) => {
            let part = |(ability, name)| part_of(ability, name, &sources);
            std::iter::once(one(Ability::Bpf, Ok(()))).chain(parts.into_iter().map(part)).collect()
        }
    }
}

/// What perf events have of a user's own programs where BPF is refused.
fn by_perf_events(bpf: &mut [Attempt], perf: &[Attempt]) {
    let works = |one: &Attempt| one.ability == Ability::PerfEvents && one.works == Extent::Full;
    if bpf.iter().any(|one| one.ability == Ability::Bpf && one.works == Extent::None)
        && perf.iter().any(works)
    {
        for one in bpf {
            let why = match one.ability {
                Ability::BpfClock => "perf events sample code; page faults need BPF",
                Ability::Mappings => "without BPF perf events have them, of this user's programs",
                _ => continue,
            };
            (one.works, one.why) = (Extent::Partial, why.to_owned());
        }
    }
}

/// The source with this name. A source that is complete may be left out.
fn part_of(ability: Ability, name: &str, sources: &[Source]) -> Attempt {
    match sources.iter().find(|source| source.name == name && source.seen != Extent::Full) {
        None => one(ability, Ok(())),
        Some(Source { seen, why, remedy, .. }) => {
            Attempt { ability, works: *seen, why: why.clone(), remedy: remedy.clone() }
        }
    }
}

fn perf() -> Vec<Attempt> {
    let (events, samples) = match try_perf() {
        Err(why) => (Err(why), Err("it needs perf events".to_owned())),
        Ok(PerfTrial { kernel_refused: None }) => (Ok(()), Ok(())),
        Ok(PerfTrial { kernel_refused: Some(why) }) => (Ok(()), Err(why)),
    };
    let names = match Kallsyms::read() {
        Seen::Value(_) => Ok(()),
        Seen::Absent => Err("this kernel has none".to_owned()),
        // The remedy after it is for one who is not asked here.
        Seen::Unseen(why) => Err(why.split("; try").next().unwrap_or_default().to_owned()),
    };
    vec![
        one(Ability::PerfEvents, events),
        one(Ability::KernelSamples, samples),
        one(Ability::KernelNames, names),
    ]
}

fn pressure(roots: Roots<'_>) -> Result<(), String> {
    host::text(&roots.proc.join("pressure/memory")).map(drop).map_err(|error| error.to_string())
}

fn cgroup() -> Result<(), String> {
    let text =
        fs::read_to_string("/proc/self/cgroup").map_err(|error| format!("/proc/self/cgroup: {error}"))?;
    let own = text.lines().filter_map(|line| line.splitn(3, ':').nth(2)).next_back();
    let own = own.ok_or("/proc/self/cgroup is empty: this kernel has no control groups")?;
    let directory = Hierarchies::here().at(Path::new(own));
    let directory = directory.ok_or_else(|| format!("there is no {own} below /sys/fs/cgroup"))?;
    let statistics = directory.join("cgroup.procs");
    fs::read(&statistics).map(drop).map_err(|error| format!("{}: {error}", statistics.display()))
}

/// Each counter that samples are taken of; those that there are are named where not all are.
fn hardware_counters() -> Attempt {
    let ability = Ability::HardwareCounters;
    let observed = match counters::trial() {
        Err(why) => {
            // Then nothing that a user may be given would help.
            let none = host::counters::units(host::here()).is_empty();
            let remedy = if none { OTHER_PROCESSOR.to_owned() } else { String::new() };
            return Attempt { remedy, ..one(ability, Err(why)) };
        }
        Ok(observed) => observed,
    };
    let (there, missing): (Vec<_>, Vec<_>) = observed.of.iter().partition(|(_, seen)| seen.value().is_some());
    let names = |of: &[&(Counter, Seen<CounterTimes>)]| {
        let names: Vec<_> = of.iter().map(|(counter, _)| counter.name()).collect();
        names.join(", ")
    };
    match missing.first() {
        None => one(ability, Ok(())),
        Some((_, first)) => {
            let reason = if let Seen::Unseen(why) = first { why } else { "" };
            let why = format!("{}; not {}: {reason}", names(&there), names(&missing));
            Attempt { ability, works: Extent::Partial, why, remedy: String::new() }
        }
    }
}

/// In a thread of its own: its priority ends with it.
fn real_time() -> Result<(), String> {
    let tried = thread::spawn(|| policy::set(Policy::Fifo(1))).join();
    let tried = tried.map_err(|_| "the thread failed".to_owned())?;
    tried.map_err(|error| format!("sched_setattr with SCHED_FIFO: {error}"))
}

/// The kernel says that memory is out where a user's limit is.
fn locked_memory(most: Option<u64>) -> Result<(), String> {
    let told = |error: Error| match most {
        Some(bytes) if error.kind() == ErrorKind::OutOfMemory => {
            format!("mlockall: more than the {} KiB that may be locked here (ulimit -l)", bytes >> 10)
        }
        _ => format!("mlockall: {error}"),
    };
    Locked::all().map(drop).map_err(told)
}

/// Opened and not written to, which changes nothing.
fn idle_states(device: &Path) -> Result<(), String> {
    let opened = OpenOptions::new().write(true).open(device);
    opened.map(drop).map_err(|error| format!("{}: {error}", device.display()))
}

fn preemption() -> Result<(), String> {
    match realtime::preemption() {
        // A remedy after it is for one who is not asked here; another reason stays.
        Seen::Unseen(why) => Err(why.split("; try: ").next().unwrap_or_default().to_owned()),
        Seen::Value(_) | Seen::Absent => Ok(()),
    }
}

fn huge_pages() -> Result<(), String> {
    let obtained = Pages::obtain(HUGE_BYTES, PageKind::Transparent).and_then(|pages| pages.obtained());
    match obtained {
        Ok(obtained) if obtained.huge_bytes > 0 => Ok(()),
        Ok(_) => Err("madvise(MADV_HUGEPAGE) gave small pages".to_owned()),
        Err(error) => Err(format!("{HUGE_BYTES} bytes: {error}")),
    }
}

/// A kernel may have been built without: PREEMPT_RT cannot have them.
fn huge(tried: Result<(), String>, memory: &Path) -> Attempt {
    let attempt = one(Ability::HugePages, tried);
    let without = memory.exists() && !memory.join("transparent_hugepage").exists();
    if attempt.works == Extent::Full || !without {
        return attempt;
    }
    let remedy = "a kernel with CONFIG_TRANSPARENT_HUGEPAGE=y, which none with PREEMPT_RT has";
    let why = "this kernel has no transparent huge pages".to_owned();
    Attempt { why, remedy: remedy.to_owned(), ..attempt }
}

fn missing_link_programs() -> Vec<&'static str> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let there = |name: &&str| std::env::split_paths(&paths).any(|directory| directory.join(name).is_file());
    LINK_PROGRAMS.iter().filter(|name| !there(name)).copied().collect()
}

fn links() -> Result<(), String> {
    let missing = missing_link_programs();
    if !missing.is_empty() {
        return Err(format!("not in PATH: {}", missing.join(", ")));
    }
    let mut command = Command::new("unshare");
    command.args(["--net", "true"]).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("unshare: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ability_is_tried_once_and_a_refusal_has_a_reason() {
        let done = attempts();
        assert_eq!(done.iter().map(|one| one.ability).collect::<Vec<_>>(), Ability::ALL);
        for attempt in done {
            assert_eq!(attempt.works == Extent::Full, attempt.why.is_empty(), "{attempt:?}");
        }
        assert!(standing().binary.starts_with(['/', '\'']));
    }

    #[test]
    fn processes_of_a_namespace_are_not_all_of_the_host() {
        assert_eq!(others(Ok(()), 0).works, Extent::Full);
        let within = others(Ok(()), 7);
        assert!(within.works == Extent::Partial && within.why.contains("PID namespace"), "{within:?}");
        let refused = AccessDenial { why: "no".into(), remedy: String::new() };
        assert_eq!(others(Err(refused), 7).works, Extent::None);
    }

    #[test]
    fn what_is_not_there_does_not_work() {
        let nowhere = Path::new("/nonexistent");
        assert!(pressure(Roots { proc: nowhere, sys: nowhere }).unwrap_err().contains("/nonexistent"));
        assert!(idle_states(nowhere).unwrap_err().starts_with("/nonexistent: "));
        let small = || Err("small pages".to_owned());
        let none = tempfile::tempdir().unwrap();
        assert!(huge(small(), none.path()).remedy.starts_with("a kernel with CONFIG_TRANSPARENT"));
        assert!(huge(small(), nowhere).remedy.is_empty() && huge(Ok(()), none.path()).why.is_empty());
        assert!(!is_mounted(nowhere) && is_mounted(Path::new("/proc")));
    }

    #[test]
    fn functions_are_there_by_perf_events_where_bpf_is_refused() {
        let tried = |perf: Result<(), String>| {
            let denied = || Err("it needs BPF".to_owned());
            let mut bpf = [Ability::Bpf, Ability::BpfClock, Ability::Mappings, Ability::Disks]
                .map(|ability| one(ability, denied()));
            by_perf_events(&mut bpf, &[one(Ability::PerfEvents, perf)]);
            bpf.map(|one| one.works)
        };
        use Extent::{None, Partial};
        assert_eq!(tried(Ok(())), [None, Partial, Partial, None]);
        assert_eq!(tried(Err("no".to_owned())), [None; 4]);
    }

    #[test]
    fn a_source_that_is_left_out_or_full_works() {
        let partly = Source::partial("sockets", "no tracepoint", "");
        assert_eq!(part_of(Ability::Pages, "pages", &[]).works, Extent::Full);
        let part = part_of(Ability::Sockets, "sockets", &[partly]);
        assert_eq!((part.works, part.why.as_str()), (Extent::Partial, "no tracepoint"));
    }
}
