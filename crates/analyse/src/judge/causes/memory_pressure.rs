//! Memory that is short: pages are reclaimed, swapped or read again.

use super::{Cause, Manual, Outcome};
use crate::code::Amount;
use crate::judge::predict::{Kind, Removal};
use crate::judge::{Evidence, own_code};
use model::coverage::Interval;
use model::disk_requests::DiskRequestRow;
use model::finding::{CauseName, Finding, RowRef, Saving, SavingBasis};
use model::limits::MemoryLimit;
use model::profile::Activity;
use model::recording::{Language, Tier};
use model::run::Share;
use model::sentence::Piece::{self, Bytes, Count, Name, Ns as Time};
use model::series::{DiskSeries, SeriesVerdict};
use model::wait::WaitTarget;
use model::{Ns, RuledOut, Seen, Sentence, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("memory-pressure", "too little memory"),
    tiers: &[Tier::Bpf, Tier::Perf, Tier::Proc],
    manual: Manual {
        what: "The program waits for memory: the kernel first has to take pages from it or from \
               others, swaps pages out and in, or reads files again that did not stay in memory.",
        why: "A page in memory costs 100 ns, a page from a disk 100 us or more. If memory is short \
              by only a little, the same pages come and go all the time.",
        rule: "Waits for swap and samples in the kernel's reclaim have a twentieth of the account \
               or more; or reads that wait for the disk have that much. Of these reads only as \
               much counts as can be due to memory. That is as much as had been taken from the \
               program's control group before (the kernel's count of refaults, for a group with a \
               limit). Or it is as long as a task waited for memory by the kernel's own count \
               (PSI), if that is a hundredth of the time or more. A program that reads a file for \
               the first time waits as well, but not for memory: it adds to neither count.",
        else_it_could_be: "Another program may take the memory: PSI, swapping and reclaim are \
                           figures of the whole host.",
        change: "Give the program more memory (raise the limit of the control group that the \
                 finding names), or make it use less: smaller caches and batches, a stream instead \
                 of the whole. See which other programs are large.",
        part: "Bounded. Waits for swap and reclaim are saved. Of the waits for reads of files, the low end \
               takes the share that refaults have of what the program read from disks; the high \
               end takes all of them. Without a count of refaults, the \
               saving of these waits is from nothing to all, but no longer than the kernel counted \
               waits for memory.",
        assumes: "With enough memory the pages stay in it.",
    },
    explains: &["disk-latency", "disk-throughput", "repeated-reads"],
    signs: &[],
    probe: None,
    check,
};

/// Less than this part of the whole is no cause.
const PART: Ns = 20;

/// Functions of the kernel that look for memory on behalf of who needs some.
const RECLAIM: &[&str] = &[
    "try_to_free_pages",
    "try_to_free_mem_cgroup_pages",
    "do_try_to_free_pages",
    "shrink_node",
    "shrink_lruvec",
    "shrink_folio_list",
    "shrink_slab",
];

/// Functions of the kernel that bring pages of a file into memory, and look for room for them.
const BRING_IN: &[&str] = &[
    "__do_page_cache_readahead",
    "page_cache_ra_unbounded",
    "page_cache_ra_order",
    "force_page_cache_ra",
    "filemap_create_folio",
    "filemap_read_folio",
    "filemap_read_page",
];

/// What of the account shows that memory is short.
#[derive(Debug, Clone, Copy)]
struct Signs {
    swap_ns: Ns,
    /// Samples in the kernel's reclaim and, of a program whose pages come back, in bringing them
    /// in.
    kernel: Share,
    /// The part of these that is for want of memory, at least.
    kernel_part: f64,
    kernel_ns: Interval,
    /// Waits for the disk that read, as far as they can have been for memory: at least, and at
    /// most.
    reads_ns: Interval,
    /// What came back into the control group's memory.
    refaulted_bytes: u64,
    /// CPU time in faults, at most, of a program that swaps.
    faults_ns: Ns,
}

impl Signs {
    fn certain_ns(&self) -> Ns {
        self.swap_ns + self.kernel_ns.lo + self.reads_ns.lo
    }

    fn most_ns(&self) -> Ns {
        self.swap_ns + self.kernel_ns.hi.max(self.faults_ns) + self.reads_ns.hi
    }
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let (signs, pressure) = (signs(evidence), pressure(evidence));
    let seen_ns = signs.swap_ns + signs.kernel_ns.lo + signs.reads_ns.hi;
    if seen_ns > 0 && seen_ns >= evidence.run.whole_ns() / PART {
        return Outcome::Found(vec![finding(evidence, &signs, pressure)]);
    }
    match (&evidence.run.series, pressure) {
        (_, Some(share)) => {
            let host = Piece::Share(share);
            let what = say!("of waits for memory, while tasks of the host waited for ", host, " of the run");
            Outcome::RuledOut(RuledOut::below(Time(seen_ns), what, Time(evidence.run.whole_ns() / PART)))
        }
        (Seen::Unseen(why), None) => Outcome::Unavailable(why.clone()),
        _ => Outcome::RuledOut(say!("no swapping, no reclaim, no waits for memory").into()),
    }
}

/// For which part of the wall some task waited for memory, where that is worth a word.
fn pressure(evidence: &Evidence<'_>) -> Option<f64> {
    let verdicts = evidence.run.series.value().map_or(&[][..], |series| &series.verdicts);
    verdicts.iter().find_map(|verdict| match verdict {
        SeriesVerdict::MemoryShort { pressure_share, .. } => {
            Some(pressure_share.value().copied().unwrap_or(0.0))
        }
        _ => None,
    })
}

fn signs(evidence: &Evidence<'_>) -> Signs {
    let on_path = |of: &dyn Fn(&WaitTarget) -> bool| -> Ns {
        let reads = evidence.run.waits.iter().filter(|wait| {
            wait.reason == State::Disk
                && !wait.call.syscall().is_some_and(|name| name.writes())
                && of(&wait.on)
        });
        reads.map(|wait| wait.path_ns).sum()
    };
    let is_swap = |on: &WaitTarget| *on == WaitTarget::Swap;
    let on_cpu_ns = evidence.account_ns(State::on_cpu) as f64;
    let waited_ns = pressure(evidence).map_or(0, |share| (share * evidence.run.wall_ns as f64) as Ns);
    let swap_ns = on_path(&is_swap);
    let reads_ns = on_path(&|on| !is_swap(on));
    let (refaulted_bytes, part) = refaulted(evidence);
    let again_ns = (reads_ns as f64 * part) as Ns;
    let again_is_some = again_ns > 0 && again_ns >= evidence.run.whole_ns() / PART;
    let (of_pages, kernel_part) = if again_is_some { (BRING_IN, part) } else { (&[][..], 1.0) };
    let kernel = kernel(evidence, of_pages).unwrap_or(Share { value: 0.0, lo: 0.0, hi: 0.0 });
    let faults = evidence.run.account.iter().find(|part| part.state == State::Fault && swap_ns > 0);
    Signs {
        swap_ns,
        faults_ns: faults.map_or(0, |part| part.hi_ns),
        kernel,
        kernel_part,
        kernel_ns: Interval {
            lo: (on_cpu_ns * kernel.lo * kernel_part) as Ns,
            hi: (on_cpu_ns * kernel.hi) as Ns,
        },
        reads_ns: Interval {
            lo: again_ns,
            hi: if again_is_some { reads_ns } else { reads_ns.min(waited_ns) },
        },
        refaulted_bytes: if again_is_some { refaulted_bytes } else { 0 },
    }
}

/// What came back into the control group's memory, and which part that is of what the program read
/// from disks; where that is not known, of all that disks read: as little as it can be, since
/// others read too.
fn refaulted(evidence: &Evidence<'_>) -> (u64, f64) {
    let limits = evidence.run.limits.value();
    let bytes = limits.and_then(|limits| limits.refaulted_bytes.value()).copied().unwrap_or(0);
    let series = evidence.run.series.value();
    let requests = evidence.run.tables.disk_requests.value().filter(|requests| requests.other_requests == 0);
    let own = |row: &&DiskRequestRow| !row.write;
    let own_bytes = requests
        .map(|requests| requests.rows.iter().filter(own).map(|row| row.bytes as f64).sum::<f64>())
        .filter(|bytes| *bytes > 0.0);
    // Unseen in a run that is too short for the host's metrics.
    let all_bytes = series.and_then(|series| {
        let of_disk =
            |disk: &DiskSeries| disk.read_bytes_per_s.iter().sum::<f64>() * series.step_ns as f64 / 1e9;
        Some(series.disks.value()?.iter().map(of_disk).sum::<f64>())
    });
    let read_bytes = match (own_bytes, all_bytes) {
        (Some(own), Some(all)) => own.min(all),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => 0.0,
    };
    if read_bytes > 0.0 { (bytes, (bytes as f64 / read_bytes).min(1.0)) } else { (0, 0.0) }
}

/// The part of the samples that is in reclaim, or in these functions.
fn kernel(evidence: &Evidence<'_>, others: &[&str]) -> Option<Share> {
    let mut sum = Amount::default();
    let in_kernel = evidence.charges().filter(|charge| charge.doing == Activity::Kernel);
    for charge in in_kernel {
        let mut frames = own_code::frames(evidence.profile, charge.weight);
        let counts = |name: &str| RECLAIM.contains(&name) || others.contains(&name);
        if frames.any(|frame| frame.language == Language::Kernel && counts(&frame.function)) {
            sum.add(charge.weight);
        }
    }
    (sum.samples > 0).then(|| sum.share(evidence.cpu_samples()))
}

fn finding(evidence: &Evidence<'_>, signs: &Signs, pressure: Option<f64>) -> Finding {
    let limit = evidence
        .run
        .limits
        .value()
        .and_then(|limits| limits.memory.value())
        .filter(|limit| limit.reached > 0);
    let share_ns = Interval { lo: signs.certain_ns(), hi: signs.most_ns().min(evidence.run.whole_ns()) };
    let mut figures = Vec::new();
    let mut figure = |ns: Ns, of: &'static str| {
        if ns > 0 {
            figures.push(say!(Time(ns), of));
        }
    };
    figure(signs.swap_ns, " of waits for swap");
    let doing = match signs.refaulted_bytes {
        0 => " in the kernel's reclaim, at least",
        _ => " in the kernel's reclaim and its work to bring pages in, at least",
    };
    figure(signs.kernel_ns.lo, doing);
    figure(signs.reads_ns.hi, " of reads that wait for the disk, at most");
    if signs.refaulted_bytes > 0 {
        figures.push(say!(
            Bytes(signs.refaulted_bytes),
            " of the control group's memory was read back after the kernel had taken it away (refaults)"
        ));
    }
    if let Some(share) = pressure {
        figures.push(say!("tasks of the host waited for memory for ", Piece::Share(share), " of the time"));
    }
    if let Some(limit) = limit {
        figures.push(of_limit(limit).and(say!(" was reached ", Count(limit.reached, "time".into()))));
    }
    let change = match limit {
        Some(limit) => say!("raise the memory limit of ", Name(limit.group.clone()), ", or use less memory"),
        None => say!("use less memory, or give the host more memory"),
    };
    let what = match limit {
        Some(limit) => say!("the program does not fit into ").and(of_limit(limit)),
        None => say!("the program does not fit into the host's memory"),
    };
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::State(if signs.swap_ns + signs.reads_ns.hi > 0 { State::Disk } else { State::Kernel }),
        what: what.and(say!(": it waits up to ", Time(share_ns.hi), " for pages")),
        change,
        share_ns,
        saving: saving(evidence, signs),
        evidence: figures,
        assumes: vec![say!("with enough memory the pages stay in it")],
        verify: vec![say!("dwell run … with more memory")],
        explains: Vec::new(),
        belief: None,
    }
}

/// `64.0 MiB of the control group /small`.
fn of_limit(limit: &MemoryLimit) -> Sentence {
    say!("the ", Bytes(limit.limit_bytes), " of the control group ", Name(limit.group.clone()))
}

/// Waits at the disk and CPU time in reclaim.
fn saving(evidence: &Evidence<'_>, signs: &Signs) -> Seen<Saving> {
    let disk_ns = evidence.account_ns(|state| state == State::Disk).max(1) as f64;
    let waits = Interval { lo: disk_ns as Ns, hi: disk_ns as Ns };
    let part = (
        (signs.swap_ns + signs.reads_ns.lo) as f64 / disk_ns,
        (signs.swap_ns + signs.reads_ns.hi) as f64 / disk_ns,
    );
    let waits = evidence.saving(&Removal::Account(waits, Kind::Waiting), part, SavingBasis::Bounded);
    let reclaim =
        evidence.saving(&Removal::Samples(signs.kernel), (signs.kernel_part, 1.0), SavingBasis::Bounded);
    evidence.together(waits, reclaim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::own_code::tests::{Told, native};
    use crate::judge::samples::{found, judged_with, run, saves, series, sites, wait, waiting};
    use model::Series;
    use model::limits::Limits;
    use model::prediction::Site;
    use model::profile::Frame;
    use model::run::WaitRow;
    use model::wait::{SyscallName, WaitCall};
    use model::{Diagnosis, Run};

    const MS: Ns = 1_000_000;

    /// A second, half of which it waits for the disk: in such a call, for this.
    fn reads(call: &'static str, on: WaitTarget) -> Run {
        let mut run = run(&[(State::User, 500 * MS), (State::Disk, 500 * MS)]);
        let call = match call {
            "" => WaitCall::Fault,
            call => WaitCall::Syscall(SyscallName::from(call)),
        };
        run.waits =
            vec![WaitRow { call, path_ns: 500 * MS, ..wait(State::Disk, on, &[waiting(100, 500 * MS)]) }];
        run
    }

    /// The kernel counted waits for memory for this part of the time.
    fn pressed(run: &mut Run, share: f64) {
        run.series = Seen::Value(series(vec![SeriesVerdict::MemoryShort {
            pressure_share: Seen::Value(share),
            swapped_pages_per_s: 0.0,
        }]));
    }

    fn judge(run: &Run, told: &Told) -> Diagnosis {
        let clocks = sites(
            run,
            &[
                (Site::State(State::Disk), [500 * MS; 3]),
                (Site::State(State::Kernel), [400 * MS; 3]),
                (Site::State(State::User), [100 * MS; 3]),
            ],
        );
        judged_with(run, &told.0, &clocks)
    }

    fn file() -> WaitTarget {
        WaitTarget::File(Seen::Value("/data".into()))
    }

    #[test]
    fn waits_for_swap_go_whatever_the_host_says() {
        let diagnosis = judge(&reads("", WaitTarget::Swap), &Told::default());
        assert_eq!(saves(found(&diagnosis, "memory-pressure").expect("it is there")), (500 * MS, 500 * MS));
    }

    #[test]
    fn reads_of_files_go_for_as_long_as_the_kernel_counted_waits_for_memory() {
        let mut run = reads("read", file());
        assert!(found(&judge(&run, &Told::default()), "memory-pressure").is_none());
        pressed(&mut run, 0.3);
        let diagnosis = judge(&run, &Told::default());
        assert_eq!(saves(found(&diagnosis, "memory-pressure").expect("it is there")), (0, 300 * MS));
        pressed(&mut run, 0.04);
        assert!(found(&judge(&run, &Told::default()), "memory-pressure").is_none(), "less than a twentieth");
        let mut writes = reads("fsync", file());
        pressed(&mut writes, 0.3);
        assert!(found(&judge(&writes, &Told::default()), "memory-pressure").is_none());
    }

    /// Adds bytes that came back into the memory of the group, and bytes that disks read.
    fn refaulted(run: &mut Run, bytes: u64, read_bytes: f64) {
        let disk = DiskSeries {
            name: "vda".into(),
            requests: 0,
            bytes: 0,
            reads_per_s: Vec::new(),
            writes_per_s: Vec::new(),
            read_bytes_per_s: vec![read_bytes * 5.0; 2],
            written_bytes_per_s: Vec::new(),
            busy_share: Vec::new(),
            queue_mean: Vec::new(),
            latency_ns_mean: Vec::new(),
            at_limit_share: 0.0,
        };
        run.series = Seen::Value(Series { disks: Seen::Value(vec![disk]), ..series(Vec::new()) });
        run.limits = Seen::Value(Limits {
            group: Seen::Absent,
            cpu: Seen::Absent,
            memory: Seen::Absent,
            cpus_allowed: Seen::Absent,
            refaulted_bytes: Seen::Value(bytes),
        });
    }

    #[test]
    fn reads_of_what_was_taken_from_the_group_go_without_a_word_of_the_host() {
        let mut run = reads("read", file());
        refaulted(&mut run, 60 << 20, f64::from(100 << 20));
        let diagnosis = judge(&run, &Told::default());
        assert_eq!(saves(found(&diagnosis, "memory-pressure").expect("it is there")), (300 * MS, 500 * MS));
        // Others read as well: what is read for the first time is no matter of memory.
        refaulted(&mut run, 5 << 20, f64::from(100 << 20));
        assert!(
            found(&judge(&run, &Told::default()), "memory-pressure").is_none(),
            "a twentieth of the reads"
        );
        run.tables.disk_requests = crate::judge::disk_reads::tests::jumping(1536, 1536);
        let diagnosis = judge(&run, &Told::default());
        let saves = saves(found(&diagnosis, "memory-pressure").expect("it is there"));
        assert_eq!(saves, (416_666_666, 500 * MS), "5 of 6 MiB that it read itself");
        // The same of a run that is too short for what disks did.
        run.series = Seen::unseen("too short");
        let diagnosis = judge(&run, &Told::default());
        let finding = found(&diagnosis, "memory-pressure").expect("it is there");
        assert_eq!(crate::judge::samples::saves(finding), saves);
        run.tables.disk_requests = Seen::Absent;
        refaulted(&mut run, 60 << 20, 0.0);
        assert!(
            found(&judge(&run, &Told::default()), "memory-pressure").is_none(),
            "nothing came from a disk"
        );
    }

    #[test]
    fn reclaim_is_known_by_samples() {
        let kernel = |name: &str| Frame { language: Language::Kernel, ..native("[kernel]", name) };
        let reclaim =
            [kernel("shrink_folio_list"), kernel("try_to_free_mem_cgroup_pages"), native("p", "main")];
        let told = |samples| {
            Told::default().stack(samples, Activity::Kernel, &reclaim).stack(
                1000,
                Activity::User,
                &[native("p", "main")],
            )
        };
        let run = run(&[(State::User, 500 * MS), (State::Kernel, 500 * MS)]);
        assert!(found(&judge(&run, &told(500)), "memory-pressure").is_some());
        assert!(found(&judge(&run, &told(20)), "memory-pressure").is_none());
    }
}
