//! The page of `dwell doctor`: what works on this host, what does not, and the command that changes
//! it.

use crate::Look;
use crate::clean::clean;
use crate::paint::{Grid, Ink, Line, joined};
use model::coverage::Extent;
use model::doctor::{Ability, Check, Doctor};
use model::recording::Tier;

/// The column where the text of a row begins.
const TEXT_AT: usize = 27;
/// The longest reason that stands behind what an ability gives, in place of a line below it.
const BRIEF: usize = 24;

/// The verb that needs an ability, its name, and what it gives.
fn words(ability: Ability) -> (&'static str, &'static str, &'static str) {
    let run = "run, attach";
    match ability {
        Ability::Bpf => (run, "BPF tracepoints", "every switch, wake-up and system call"),
        Ability::BpfClock => (run, "sampling clock", "which code runs, and page faults"),
        Ability::Mappings => (run, "mappings", "names of functions and lines"),
        Ability::Sockets => (run, "sockets", "which peer on this host ends a wait"),
        Ability::Disks => (run, "disks", "requests to disks"),
        Ability::Network => (run, "network", "connections and name servers"),
        Ability::Pages => (run, "page faults", "the file of each page fault"),
        Ability::Uprobes => (run, "uprobes", "--names: name lookups of the C library"),
        Ability::PerfEvents => (run, "perf events", "without BPF: exact times, and code"),
        Ability::KernelSamples => (run, "kernel samples", "without BPF: code of the kernel"),
        Ability::KernelNames => (run, "kernel names", "without BPF: names of kernel functions"),
        Ability::OtherUsers => (run, "others' processes", "what processes of other users wait for"),
        Ability::Pressure => (run, "memory pressure", "stalls for lack of memory"),
        Ability::Cgroup => (run, "control group", "its CPU quota, attach --service, --container"),
        Ability::HardwareCounters => {
            (run, "hardware counters", "instructions per cycle, misses, stalls, by function")
        }
        Ability::RealTime => ("wake", "real-time priority", "latency of real-time threads"),
        Ability::LockedMemory => ("wake", "locked memory", "no page faults in the measurement"),
        Ability::IdleStates => ("wake", "idle states", "CPUs kept awake (/dev/cpu_dma_latency)"),
        Ability::Preemption => ("wake", "preemption model", "the preemption model on the page"),
        Ability::HugePages => ("ladder", "huge pages", "memory latency without TLB misses"),
        Ability::Links => ("lab", "network of its own", "pairs with a slow server (ip, tc, unshare)"),
    }
}

/// The page with a row for each thing, with a newline after each line.
pub fn terminal(doctor: &Doctor, look: Look) -> String {
    joined(&parts(doctor, look, true))
}

/// The page for a screen: what works is only named. What does not work has its row, and all
/// commands stand there, since they are what the page is read for.
pub fn short(doctor: &Doctor, look: Look) -> String {
    joined(&parts(doctor, look, false))
}

/// The parts of the page; `all`: with a row for each thing.
pub(crate) fn parts(doctor: &Doctor, look: Look, all: bool) -> Vec<Vec<Line>> {
    let user = if doctor.uid == 0 { "root".to_owned() } else { format!("user {}", doctor.uid) };
    let sees = match doctor.tier {
        Tier::Bpf => "trace every switch, wake-up and system call (BPF)",
        Tier::Perf => {
            "have exact times on and off a CPU, functions (both by perf events), and reasons from snapshots of /proc"
        }
        Tier::Proc => "have snapshots of /proc, each part with an interval",
    };
    let head = Line::new(look)
        .add(Ink::Bold, &format!("Here, as {user}, dwell run and dwell attach {sees}"))
        .wrap(2);
    let mut parts = vec![head];
    let mut verbs: Vec<&str> = Vec::new();
    for check in &doctor.checks {
        let (verb, ..) = words(check.ability);
        if !verbs.contains(&verb) {
            verbs.push(verb);
        }
    }
    for verb in verbs {
        let mut lines = vec![Line::new(look).add(Ink::Bold, &format!("For dwell {verb}"))];
        let checks = || doctor.checks.iter().filter(|check| words(check.ability).0 == verb);
        let listed = |check: &&Check| all || check.works != Extent::Full;
        let works: Vec<&str> = checks().filter(|c| !listed(c)).map(|c| words(c.ability).1).collect();
        if !works.is_empty() {
            let line = Line::new(look).pad_to(2).add(Ink::Plain, "yes").pad_to(7);
            lines.extend(line.add(Ink::Plain, &works.join(", ")).wrap(7));
        }
        if look.is_document() {
            lines = vec![Line::of(look, table(verb, checks()))];
        } else {
            lines.extend(checks().filter(listed).flat_map(|check| row(check, look)));
        }
        parts.push(lines);
    }
    parts.push(commands(doctor, look));
    if !doctor.kernel_faults.is_empty() {
        let mut lines = vec![Line::new(look).add(Ink::Bold, "Known of this kernel")];
        let faults = doctor.kernel_faults.iter();
        lines.extend(faults.flat_map(|fault| {
            Line::new(look).pad_to(2).add(Ink::Plain, &clean(fault, look.unicode)).wrap(2)
        }));
        parts.push(lines);
    }
    let host = &doctor.host;
    let place = format!("dwell {} at {}, on {} {}", doctor.version, doctor.binary, host.kernel, host.arch);
    let mut last = Line::new(look).add(Ink::Dim, &place).wrap(2);
    if !all {
        last.push(Line::new(look).add(Ink::Dim, "-v: what each is for"));
    }
    parts.push(last);
    parts
}

/// The same of all of them, in a document.
fn table<'a>(verb: &str, checks: impl Iterator<Item = &'a Check>) -> Grid {
    let row = |check: &Check| {
        let (_, name, gives) = words(check.ability);
        let (mark, ink) = mark(check);
        let cells = [(Ink::Plain, name), (ink, mark), (Ink::Plain, gives), (Ink::Dim, &*check.why)];
        (cells.map(|(ink, text)| (ink, clean(text, true))).to_vec(), false)
    };
    let heads = ["", "works", "gives", "why not"].map(|head| (head.to_owned(), false)).to_vec();
    Grid { title: format!("for dwell {verb}"), heads, rows: checks.map(row).collect() }
}

/// Whether it works, in a word.
fn mark(check: &Check) -> (&'static str, Ink) {
    match check.works {
        Extent::Full => ("yes", Ink::Plain),
        Extent::Partial => ("part", Ink::Warn),
        Extent::None => ("no", Ink::Warn),
    }
}

/// What it gives, or why it does not.
fn row(check: &Check, look: Look) -> Vec<Line> {
    let (_, name, gives) = words(check.ability);
    let (mark, ink) = mark(check);
    let line = Line::new(look).pad_to(2).add(ink, mark).pad_to(7).add(Ink::Plain, name).pad_to(TEXT_AT);
    let line = line.add(Ink::Plain, gives);
    if (1..=BRIEF).contains(&check.why.chars().count()) {
        return line.add(Ink::Dim, &format!(": {}", check.why)).wrap(TEXT_AT);
    }
    let mut lines = line.wrap(TEXT_AT);
    if !check.why.is_empty() {
        lines.extend(Line::new(look).pad_to(TEXT_AT).add(Ink::Dim, &check.why).wrap(TEXT_AT));
    }
    lines
}

/// What would change it, each once, with what it is for. On lines of their own, so that they can be
/// pasted.
fn commands(doctor: &Doctor, look: Look) -> Vec<Line> {
    let mut remedies: Vec<(&str, Vec<&str>)> = Vec::new();
    for check in doctor.checks.iter().filter(|check| !check.remedy.is_empty()) {
        let name = words(check.ability).1;
        match remedies.iter_mut().find(|(remedy, _)| *remedy == check.remedy) {
            Some((_, names)) => names.push(name),
            None => remedies.push((&check.remedy, vec![name])),
        }
    }
    if remedies.is_empty() {
        return vec![Line::new(look).add(Ink::Plain, "Nothing is missing.")];
    }
    let mut lines = vec![Line::new(look).add(Ink::Bold, "What would change it")];
    for (remedy, names) in remedies {
        lines.extend(Line::new(look).pad_to(2).add(Ink::Plain, &format!("{}:", names.join(", "))).wrap(2));
        // Not wrapped: a command that is broken cannot be pasted.
        lines.push(Line::new(look).pad_to(4).add(Ink::Plain, &clean(remedy, look.unicode)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Seen;
    use model::doctor::SCHEMA_DOCTOR;
    use model::recording::Host;

    const LOOK: Look = Look::PLAIN;

    fn doctor(works: Extent) -> Doctor {
        let full = works == Extent::Full;
        let check = |ability| Check {
            ability,
            works,
            why: if full { String::new() } else { "open: \x1b[31mdenied".into() },
            remedy: if full { String::new() } else { "sudo /opt/dwell attach \u{2026}".into() },
        };
        Doctor {
            schema: SCHEMA_DOCTOR.into(),
            version: "0.0".into(),
            binary: "/opt/dwell".into(),
            host: Host {
                name: "vm".into(),
                kernel: "Linux 6.1".into(),
                arch: "x86_64".into(),
                cpus: 2,
                memory_bytes: Seen::Absent,
                virtualisation: Seen::Absent,
            },
            uid: 1000,
            tier: if full { Tier::Bpf } else { Tier::Proc },
            checks: Ability::ALL.map(check).into(),
            kernel_faults: Vec::new(),
        }
    }

    #[test]
    fn one_page_says_what_works_and_what_would_change_the_rest() {
        let page = terminal(&doctor(Extent::Full), LOOK);
        assert!(
            page.starts_with("Here, as user 1000, dwell run and dwell attach trace every switch"),
            "{page}"
        );
        assert_eq!(page.matches("  yes  ").count(), Ability::ALL.len(), "{page}");
        assert!(page.contains("Nothing is missing.") && page.lines().count() <= 40, "{page}");
        let page = terminal(&doctor(Extent::None), LOOK);
        assert_eq!(page.matches("  no   ").count(), Ability::ALL.len(), "{page}");
        assert_eq!(page.matches("sudo /opt/dwell attach").count(), 1, "each command once: {page}");
        assert!(page.contains("snapshots of /proc") && !page.contains('\x1b'), "{page}");
        assert!(page.lines().all(|line| crate::clean::width(line) <= 100), "{page}");
    }

    #[test]
    fn on_a_screen_what_works_is_named_and_every_command_stands() {
        let page = short(&doctor(Extent::Full), LOOK);
        assert!(page.lines().count() <= 24 && page.contains("BPF tracepoints, sampling clock"), "{page}");
        // One thing that does not work has its row, its reason and its command.
        let mut mixed = doctor(Extent::Full);
        mixed.checks[1] = doctor(Extent::None).checks[1].clone();
        let page = short(&mixed, LOOK);
        assert!(page.contains("  no   sampling clock") && page.contains("denied"), "{page}");
        assert!(page.contains("BPF tracepoints, mappings"), "{page}");
        assert!(page.contains("    sudo /opt/dwell attach \u{2026}\n"), "{page}");
        // Where nothing works, it is all of it.
        let none = doctor(Extent::None);
        assert_eq!(
            short(&none, LOOK).trim_end(),
            terminal(&none, LOOK).trim_end().to_owned() + "\n-v: what each is for"
        );
    }

    #[test]
    fn what_is_known_to_be_wrong_in_the_kernel_is_told() {
        let mut known = doctor(Extent::Full);
        assert!(!short(&known, LOOK).contains("Known of this kernel"));
        known.kernel_faults.push("Linux 6.18.44 may leave threads without a CPU".into());
        let page = short(&known, LOOK);
        assert!(page.contains("Known of this kernel\n  Linux 6.18.44 may leave threads"), "{page}");
    }

    #[test]
    fn the_json_can_be_read_back() {
        let json = crate::json(&doctor(Extent::Partial));
        assert_eq!(serde_json::from_str::<Doctor>(&json).unwrap(), doctor(Extent::Partial));
    }
}
