//! Counters during a measurement: interrupts, steal and system management interrupts of each CPU.

use super::roots::{self, KernelRoots, text};
use host::{fields, stat};
use model::{Ns, Seen};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// `MSR_SMI_COUNT` of Intel CPUs since Nehalem: SMIs since reset.
const MSR_SMI_COUNT: u64 = 0x34;

/// Counters at one time.
#[derive(Debug)]
pub(super) struct RealtimeCounters {
    /// By CPU, in the order of the lines; or why not.
    interrupts: Result<BTreeMap<u32, Vec<(String, u64)>>, String>,
    steal_ns: Result<BTreeMap<u32, Ns>, String>,
    smi: BTreeMap<u32, Result<u64, String>>,
}

impl RealtimeCounters {
    pub(super) fn read(places: KernelRoots<'_>, cpus: &[u32]) -> Self {
        let proc = places.roots.proc;
        Self {
            interrupts: roots::interrupts(proc).map(|told| interrupts(&told)),
            steal_ns: text(&proc.join("stat"))
                .map(|stat| stat::by_cpu(&stat).map(|(cpu, times)| (cpu, times.steal_ns)).collect()),
            smi: smis(proc, places.dev, cpus),
        }
    }

    /// Name and number of interrupts since then, most first.
    pub(super) fn interrupts_since(&self, before: &Self, cpu: u32) -> Seen<Vec<(String, u64)>> {
        let (now, before) = match (&self.interrupts, &before.interrupts) {
            (Ok(now), Ok(before)) => (now.get(&cpu), before.get(&cpu)),
            (Err(why), _) | (_, Err(why)) => return Seen::unseen(why),
        };
        // One that came online meanwhile has counts since the system started.
        let (Some(now), Some(before)) = (now, before) else {
            return Seen::unseen("the kernel has no counter for this CPU");
        };
        let was = |name: &str| {
            let line = before.iter().find(|(other, _)| other == name);
            line.map_or(0, |(_, count)| *count)
        };
        let mut came: Vec<(String, u64)> =
            now.iter().map(|(name, count)| (name.clone(), count.saturating_sub(was(name)))).collect();
        came.retain(|(_, count)| *count > 0);
        came.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Seen::Value(came)
    }

    pub(super) fn steal_since(&self, before: &Self, cpu: u32) -> Seen<Ns> {
        match (&self.steal_ns, &before.steal_ns) {
            (Ok(now), Ok(before)) => match (now.get(&cpu), before.get(&cpu)) {
                (Some(now), Some(before)) => Seen::Value(now.saturating_sub(*before)),
                _ => Seen::unseen("the kernel has no counter for this CPU"),
            },
            (Err(why), _) | (_, Err(why)) => Seen::unseen(why),
        }
    }

    pub(super) fn smi_since(&self, before: &Self, cpu: u32) -> Seen<u64> {
        match (self.smi.get(&cpu), before.smi.get(&cpu)) {
            (Some(Ok(now)), Some(Ok(before))) => Seen::Value(now.wrapping_sub(*before) & u64::from(u32::MAX)),
            (Some(Err(why)), _) | (_, Some(Err(why))) => Seen::unseen(why),
            _ => Seen::unseen("it was not read for this CPU"),
        }
    }
}

/// The name of an interrupt, from the rest of its line: counts, the chip, the trigger, and then the
/// handlers. One without a handler is named by its number.
pub(super) fn name(number: u32, rest: &str) -> String {
    let words: Vec<&str> = rest.split_whitespace().skip_while(|word| word.parse::<u64>().is_ok()).collect();
    let Some(mut from) = words.len().checked_sub(1) else { return format!("irq {number}") };
    while from > 0 && words[from - 1].ends_with(',') {
        from -= 1;
    }
    let wiring =
        ["edge", "level", "fasteoi"].iter().any(|kind| words[from].to_ascii_lowercase().ends_with(kind));
    if wiring { format!("irq {number}") } else { words[from..].join(" ") }
}

/// `/proc/interrupts`: a column for each online CPU, a line for each interrupt.
fn interrupts(told: &str) -> BTreeMap<u32, Vec<(String, u64)>> {
    let mut lines = told.lines();
    let head = lines.next().unwrap_or_default().split_whitespace();
    let cpus: Vec<u32> = head.filter_map(|cpu| cpu.strip_prefix("CPU")?.parse().ok()).collect();
    let mut by_cpu: BTreeMap<u32, Vec<(String, u64)>> = cpus.iter().map(|cpu| (*cpu, Vec::new())).collect();
    for line in lines {
        let Some((short, rest)) = line.split_once(':') else { continue };
        let counts: Vec<u64> = rest.split_whitespace().map_while(|word| word.parse().ok()).collect();
        // Lines of errors have one number for all.
        if counts.len() < cpus.len() {
            continue;
        }
        let name = match short.trim().parse() {
            Ok(number) => name(number, rest),
            Err(_) => {
                let words = rest.split_whitespace().skip(cpus.len());
                let words = words.collect::<Vec<_>>().join(" ");
                if words.is_empty() { short.trim().to_owned() } else { words }
            }
        };
        for (cpu, count) in cpus.iter().zip(&counts) {
            let lines = by_cpu.entry(*cpu).or_default();
            // Several queues of one device may share a name.
            match lines.iter_mut().find(|(other, _)| *other == name) {
                Some((_, sum)) => *sum += count,
                None => lines.push((name.clone(), *count)),
            }
        }
    }
    by_cpu
}

fn smis(proc: &Path, dev: &Path, cpus: &[u32]) -> BTreeMap<u32, Result<u64, String>> {
    let cpuinfo = text(&proc.join("cpuinfo")).unwrap_or_default();
    let vendor = fields::cpuinfo(&cpuinfo, "vendor_id");
    let count = |cpu: u32| {
        if vendor != Some("GenuineIntel") {
            return Err(format!(
                "only Intel CPUs count them, and this one is from {}",
                vendor.unwrap_or("another vendor")
            ));
        }
        let path = dev.join(format!("cpu/{cpu}/msr"));
        let mut value = [0; 8];
        let read = File::open(&path).and_then(|file| file.read_exact_at(&mut value, MSR_SMI_COUNT));
        match read {
            Ok(()) => Ok(u64::from_le_bytes(value)),
            Err(error) => Err(format!(
                "cannot read {}: {error}; try: sudo, and modprobe msr (a hypervisor may not provide it)",
                path.display()
            )),
        }
    };
    cpus.iter().map(|cpu| (*cpu, count(*cpu))).collect()
}
