//! Programs that read the same bytes again.

use super::{Cause, Manual, Outcome};
use crate::judge::Evidence;
use crate::judge::direct::is_direct;
use crate::judge::file_calls::{OF_EACH, OPENS, RemovedCalls, part_of_all};
use crate::judge::predict::{Kind, Removal};
use crate::judge::processes;
use crate::judge::results::traced_part;
use model::coverage::Interval;
use model::files::{FileRow, FileTable};
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::recording::Tier;
use model::sentence::Piece::{Bytes, Count, Name, Ns as Time, Number};
use model::syscall_rows::CallRow;
use model::wait::{SyscallName, WaitTarget};
use model::{Ns, RuledOut, Seen, Sentence, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("repeated-reads", "the same bytes read again"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "A process reads at least twice as many bytes of a file as the file has.",
        why: "Each time, the bytes are copied from the kernel's memory and parsed again. If memory \
              was short in between, the disk has to deliver them again too. With `O_DIRECT` the \
              disk delivers them each time: the page cache keeps nothing of the file.",
        rule: "One process has read at least twice the size of a file. What the program wrote to \
               the file in between does not count as read again. The bytes read of each file are \
               estimated from a sample: the low end of its 95 % interval counts. All such files \
               together are read again by 1 MiB or more: an interpreter takes 50 ms to make \
               something of so much, a byte at a time.",
        else_it_could_be: "Another program may have changed the file in between. Some places of \
                           the file may be read again and again and others never, as in a database \
                           that is larger than memory and is read with `pread`: then a larger \
                           cache in the program helps, and saves the reads that it answers.",
        change: "Read the file once and keep what was made of it; check its modification time \
                 (`stat`) to know whether it has changed. If the program reads parts of the file, \
                 keep those that are needed again, or map the file (`mmap`). With `O_DIRECT` the \
                 program needs a cache of its own, or has to open the file without `O_DIRECT`.",
        part: "Counted: of the calls' time on the file, all but the first pass is saved. For B \
               bytes read of a file of S bytes, that is 1 - S/B. The low end takes CPU time alone, \
               since as a rule the calls wait for the disk in the first pass. With `O_DIRECT` they \
               wait in each pass, and the same part of these waits is saved. The high end also \
               takes the opening and closing of the file each time, and what the program makes of \
               the bytes, since the same bytes give the same result: its own code, at most 50 ns \
               for each byte.",
        assumes: "The bytes are the same each time. What is made of them fits into memory.",
    },
    explains: &["small-io", "disk-latency", "disk-throughput"],
    signs: &[],
    probe: None,
    check,
};

/// Fewer bytes are soon read and parsed.
const AGAIN_MIN: u64 = 1 << 20;
/// What a program does with a byte that it reads takes up to so long: awk splits fields in some 20
/// ns a byte, a JSON parser of JavaScript builds objects in some 40.
const PARSED_NS_MAX: Ns = 50;
/// Files that are named with their figures.
const NAMED: usize = 3;

/// A file that was read again.
#[derive(Debug, Clone, Copy)]
struct Again<'a> {
    place: usize,
    file: &'a FileRow,
    /// Its size, and what was written to it: this many bytes could be new.
    new_bytes: u64,
}

/// What of a call's time was on such files, and what of that goes: least and most.
#[derive(Debug, Clone, Copy)]
struct OfCall<'a> {
    row: &'a CallRow,
    /// On a CPU and waiting.
    all_ns: f64,
    files_ns: f64,
    goes_ns: (f64, f64),
    /// Calls that go.
    calls: f64,
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let files = match &evidence.run.tables.files {
        Seen::Value(files) => files,
        Seen::Absent => return Outcome::RuledOut(say!("no files were read").into()),
        Seen::Unseen(why) => return Outcome::Unavailable(why.clone()),
    };
    let again = again(files);
    let bytes: u64 = again.iter().map(Again::bytes).sum();
    let calls = of_calls(evidence, &again);
    if bytes < AGAIN_MIN {
        return Outcome::RuledOut(RuledOut::below(Bytes(bytes), say!("read again"), Bytes(AGAIN_MIN)));
    }
    if calls.is_empty() {
        return Outcome::RuledOut(say!("the calls that read again took no time").into());
    }
    Outcome::Found(vec![finding(evidence, &again, &calls)])
}

/// The files that were read again for certain, what was read most first.
fn again(files: &FileTable) -> Vec<Again<'_>> {
    let written = |file: &FileRow| {
        let same = files.rows.iter().filter(|other| other.is_same_file(file));
        same.map(|other| other.written.bytes).sum::<u64>()
    };
    let rows = files.rows.iter().enumerate().filter(|(_, file)| file.size_bytes > 0);
    let all = rows.map(|(place, file)| Again { place, file, new_bytes: file.size_bytes + written(file) });
    let mut again: Vec<_> = all.filter(|again| again.bytes() >= again.file.size_bytes).collect();
    again.sort_by_key(|again| std::cmp::Reverse(again.file.read.cpu_ns));
    again
}

impl Again<'_> {
    /// How many were read again, at least.
    fn bytes(&self) -> u64 {
        self.file.read.lo_bytes.saturating_sub(self.new_bytes)
    }

    /// What goes of the time of its reads on a CPU, and at most of what they waited for the disk:
    /// least and most.
    fn goes_ns(&self, cpu_ns: f64, disk_ns: f64) -> (f64, f64) {
        let read = &self.file.read;
        // The sample says as much of the time as of the bytes.
        let lo = read.lo_bytes as f64 / read.bytes.max(1) as f64;
        // What is not kept is waited for in each pass.
        let each_pass_ns = if is_direct(self.file) { disk_ns } else { 0.0 };
        let (lo_ns, hi_ns) = (cpu_ns * lo + each_pass_ns, cpu_ns * (2.0 - lo) + disk_ns);
        let part = |bytes: u64, new_bytes: u64| 1.0 - (new_bytes as f64 / bytes.max(1) as f64).min(1.0);
        (lo_ns * part(read.lo_bytes, self.new_bytes), hi_ns * part(read.bytes, self.file.size_bytes))
    }

    /// How often its bytes were read.
    fn times(&self) -> u64 {
        (self.file.read.bytes as f64 / self.file.size_bytes.max(1) as f64).round() as u64
    }
}

impl<'a> OfCall<'a> {
    /// Which part of its calls' time this is.
    fn share(&self, ns: f64) -> f64 {
        (ns / self.all_ns).min(1.0)
    }

    fn gone(&self) -> RemovedCalls<'a> {
        let part = (self.share(self.goes_ns.0), self.share(self.goes_ns.1));
        RemovedCalls { row: self.row, calls: (self.calls as u64).min(self.row.calls), part }
    }
}

/// The calls that read these files, each with its own part.
fn of_calls<'a>(evidence: &Evidence<'a>, again: &[Again<'_>]) -> Vec<OfCall<'a>> {
    let rows = evidence.run.tables.syscalls.value().map_or(&[][..], Vec::as_slice);
    let of_row = |row: &'a CallRow| {
        let seen = traced_part(row);
        let mut sum = OfCall {
            row,
            all_ns: (row.cpu_ns + waits_ns(evidence, row)) as f64,
            files_ns: 0.0,
            goes_ns: (0.0, 0.0),
            calls: 0.0,
        };
        for again in again.iter().filter(|again| again.file.read.call == row.name.to_string()) {
            // Waits are all seen, calls in windows only.
            let cpu_ns = again.file.read.cpu_ns as f64 / seen;
            let disk_ns = disk_ns(evidence, row, &again.file.path) as f64;
            let (lo, hi) = again.goes_ns(cpu_ns, disk_ns);
            sum.files_ns += cpu_ns + disk_ns;
            sum.goes_ns = (sum.goes_ns.0 + lo, sum.goes_ns.1 + hi);
            let read = &again.file.read;
            sum.calls += read.calls as f64 * (again.bytes() as f64 / read.lo_bytes.max(1) as f64) / seen;
        }
        (sum.files_ns > 0.0 && sum.all_ns > 0.0).then_some(sum)
    };
    rows.iter().filter_map(of_row).collect()
}

/// How long a call waited for anything.
fn waits_ns(evidence: &Evidence<'_>, row: &CallRow) -> Ns {
    let waits = evidence.run.waits.iter().filter(|wait| wait.call.syscall() == Some(&row.name));
    waits.map(|wait| wait.total_ns).sum()
}

/// How long a call waited for the disk with this file.
fn disk_ns(evidence: &Evidence<'_>, row: &CallRow, path: &str) -> Ns {
    let waits = evidence.waits_in(State::Disk, &[&row.name.name]);
    let of_file = waits.iter().filter(|(_, wait)| match &wait.on {
        WaitTarget::File(Seen::Value(on)) => on == path,
        _ => false,
    });
    of_file.map(|(_, wait)| wait.total_ns).sum()
}

fn finding(evidence: &Evidence<'_>, again: &[Again<'_>], calls: &[OfCall<'_>]) -> Finding {
    let mut gone: Vec<_> = calls.iter().map(OfCall::gone).collect();
    let part = part_of_all(&gone);
    gone.extend(around(evidence, again));
    let total_ns: Ns = calls.iter().map(|of| of.row.total_ns).sum();
    let cpu_ns: Ns = calls.iter().map(|of| of.row.cpu_ns).sum();
    let kind = if cpu_ns * 2 > total_ns { Kind::Cpu } else { Kind::Waiting };
    // What is made of bytes that come again was made of them before.
    let names: Vec<_> = calls.iter().map(|of| &of.row.name).collect();
    let mut goes = evidence.without(&gone, kind);
    goes.account_ns.hi += parsed_ns(evidence, again, &names);
    let all = evidence.has(&names);
    let of_files = calls.iter().map(|of| of.share(of.files_ns) * of.row.total_ns as f64).sum::<f64>();
    let of = |ns: Ns| (ns as f64 * of_files / total_ns.max(1) as f64) as Ns;
    let most = &again[0];
    let in_places = most.file.read.call.starts_with('p');
    let direct = is_direct(most.file);
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::File(most.place),
        what: what(evidence, again, calls),
        change: if direct {
            say!(
                "keep data that is needed again in a cache of the program, or open the file without O_DIRECT"
            )
        } else if in_places {
            say!("keep the parts of the file that are needed again in memory, or map the file")
        } else {
            say!("read it once and keep the result")
        },
        share_ns: Interval { lo: of(all.lo), hi: of(all.hi) },
        saving: evidence.saving(&Removal::Parts(goes), part, SavingBasis::Counted),
        evidence: again.iter().take(NAMED).map(figures).collect(),
        assumes: vec![say!("the bytes are the same each time, and the result fits into memory")],
        verify: vec![say!("measure both versions: dwell compare BEFORE AFTER")],
        explains: Vec::new(),
        belief: None,
    }
}

/// What the program makes of bytes that come again takes at most: so much for each, of its own
/// code.
fn parsed_ns(evidence: &Evidence<'_>, again: &[Again<'_>], calls: &[&SyscallName]) -> Ns {
    let bytes: u64 = again.iter().map(Again::bytes).sum();
    let of_readers_ns = processes::user_ns_of_callers(evidence, calls).unwrap_or(Ns::MAX);
    let own_ns = evidence.account_ns(|state| state == State::User).min(of_readers_ns);
    bytes.saturating_mul(PARSED_NS_MAX).min(own_ns)
}

/// What is called for each time that a file is read, where it is opened for that: at most all but
/// one of these go.
fn around<'a>(evidence: &Evidence<'a>, again: &[Again<'_>]) -> Vec<RemovedCalls<'a>> {
    let passes: u64 = again.iter().map(Again::times).sum();
    let rows = [evidence.calls_named(OPENS), evidence.calls_named(OF_EACH)].concat();
    let of_each = rows.into_iter().filter(|(_, row)| row.calls >= passes - passes / 10);
    let gone = of_each.map(|(_, row)| RemovedCalls::of(row, passes.saturating_sub(1)));
    gone.map(|gone| RemovedCalls { part: (0.0, gone.part.1), ..gone }).collect()
}

fn what(evidence: &Evidence<'_>, again: &[Again<'_>], calls: &[OfCall<'_>]) -> Sentence {
    let most = &again[0];
    let in_windows = evidence.run.tables.files.value().is_some_and(|files| files.at_least);
    let about = if in_windows { " at least " } else { " about " };
    let call = calls.iter().map(|of| &of.row.name).find(|name| name.to_string() == most.file.read.call);
    let caller = call.map(|call| evidence.caller(&[call])).unwrap_or_default();
    let program =
        most.file.program.value().map_or_else(|| say!("the program"), |name| say!(Name(name.clone())));
    let ns: Ns = again.iter().map(|again| again.file.read.cpu_ns).sum();
    let times: u64 = again.iter().map(|again| again.file.read.calls).sum();
    let others = match again.len() {
        1 => Sentence::default(),
        files => say!(", and ", Count(files as u64 - 1, "other file".into()), " again"),
    };
    program
        .and(say!(
            " reads the ",
            Bytes(most.file.size_bytes),
            " of ",
            Name(most.file.path.clone()),
            about,
            Number(most.times()),
            " times"
        ))
        .and(others)
        .and(say!(", with ", Name(most.file.read.call.clone())))
        .and(if is_direct(most.file) { say!(" past the page cache (O_DIRECT)") } else { Sentence::default() })
        .and(caller)
        .and(say!(";", about, Count(times, "call".into()), " take ", Time(ns), " of CPU time"))
}

fn figures(again: &Again<'_>) -> Sentence {
    let read = &again.file.read;
    say!(
        Name(again.file.path.clone()),
        ": about ",
        Bytes(read.bytes),
        " read, at least ",
        Bytes(read.lo_bytes),
        "; its size is ",
        Bytes(again.file.size_bytes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::{call, step, wait};
    use crate::judge::samples::{found, judged, ruled_out, run, saves, sites};
    use model::files::TransferRow;
    use model::prediction::Site;
    use model::syscall_rows::Estimate;
    use model::wait::WakerKind;
    use model::{Diagnosis, Reason, Run};

    const MS: Ns = 1_000_000;
    const MIB: u64 = 1 << 20;

    /// A file of which so much was read, counted, in so much time.
    fn file(path: &str, size: u64, bytes: u64, ns: Ns) -> FileRow {
        let read =
            TransferRow { call: "read".into(), calls: bytes >> 16, bytes, lo_bytes: bytes, cpu_ns: ns };
        FileRow {
            path: path.into(),
            device: Seen::Value("vda".into()),
            inode: path.len() as u64,
            generation: 0,
            pid: 100,
            program: Seen::Value("program".into()),
            size_bytes: size,
            read,
            written: TransferRow::default(),
            flags: Vec::new(),
            durable: Seen::Absent,
            disk: Seen::Absent,
        }
    }

    /// A second, of which 800 ms are in reads.
    fn of(files: Vec<FileRow>) -> Run {
        let mut run = run(&[(State::User, 200 * MS), (State::Kernel, 800 * MS)]);
        run.tables.syscalls = Seen::Value(vec![call("read", 1000, 0, 800 * MS)]);
        run.path = vec![step(State::Kernel, Reason::Syscall("read".into()), 800 * MS)];
        run.tables.files = Seen::Value(FileTable { rows: files, other_bytes: 0, at_least: false });
        run
    }

    fn diagnosis(run: &Run) -> Diagnosis {
        judged(run, &sites(run, &[(Site::Call("read".into()), [800 * MS; 3])]))
    }

    fn is_found(files: Vec<FileRow>) -> bool {
        found(&diagnosis(&of(files)), "repeated-reads").is_some()
    }

    #[test]
    fn all_passes_but_the_first_go() {
        let run =
            of(vec![file("/other", 9 * MIB, 9 * MIB, 400 * MS), file("/a", 5 * MIB, 50 * MIB, 400 * MS)]);
        let diagnosis = diagnosis(&run);
        let finding = found(&diagnosis, "repeated-reads").expect("it is there");
        assert_eq!(saves(finding), (360 * MS, 560 * MS), "nine tenths of half of the calls' time");
        assert_eq!(finding.place, RowRef::File(1));
        assert_eq!(finding.share_ns, Interval { lo: 400 * MS, hi: 400 * MS });
    }

    #[test]
    fn what_opens_the_file_for_each_pass_goes_at_most() {
        let of_calls = |opens: u64| {
            let mut run = of(vec![file("/a", 5 * MIB, 500 * MIB, 800 * MS)]);
            (run.account[0].ns, run.wall_ns) = (0, 820 * MS);
            let Seen::Value(calls) = &mut run.tables.syscalls else { panic!("they are there") };
            calls.push(call("openat", opens, 0, 20 * MS));
            run.path.push(step(State::Kernel, Reason::Syscall("openat".into()), 20 * MS));
            let sites = sites(
                &run,
                &[(Site::Call("read".into()), [800 * MS; 3]), (Site::Call("openat".into()), [20 * MS; 3])],
            );
            saves(found(&judged(&run, &sites), "repeated-reads").expect("it is there"))
        };
        assert_eq!(of_calls(89), (792 * MS, 792 * MS), "not opened for each");
        assert_eq!(of_calls(99), (792 * MS, 792 * MS + 20 * MS));
        assert_eq!(of_calls(198), (792 * MS, 792 * MS + 10 * MS), "half of them open others");
    }

    #[test]
    fn what_is_made_of_the_bytes_goes_at_most() {
        let of_bytes = |mib: u64| {
            let run = of(vec![file("/a", MIB, (1 + mib) * MIB, 800 * MS)]);
            saves(found(&diagnosis(&run), "repeated-reads").expect("it is there"))
        };
        let ((least, most), (all, more)) = (of_bytes(1), of_bytes(99));
        assert_eq!(most - least, 50 * MIB);
        assert_eq!(more - all, 200 * MS, "the program has no more own code");
    }

    #[test]
    fn less_than_twice_and_little_is_no_cause() {
        assert!(is_found(vec![file("/a", 5 * MIB, 10 * MIB, 400 * MS)]));
        assert!(!is_found(vec![file("/a", 5 * MIB, 10 * MIB - 1, 400 * MS)]));
        assert!(is_found(vec![file("/a", 4096, 4096 + AGAIN_MIN, 400 * MS)]));
        assert!(!is_found(vec![file("/a", 4096, 4095 + AGAIN_MIN, 400 * MS)]));
        let one = || file("/a", MIB / 2, MIB * 5 / 4, 200 * MS);
        assert!(is_found(vec![one(), FileRow { inode: 77, ..one() }]), "two together are much");
        assert!(!is_found(vec![file("/a", 0, 50 * MIB, 400 * MS)]), "its size is not known");
        assert!(ruled_out(&diagnosis(&of(vec![])), "repeated-reads"));
    }

    #[test]
    fn what_a_sample_may_have_by_chance_is_none() {
        let mut row = file("/a", MIB, 50 * MIB, 400 * MS);
        row.read.lo_bytes = 5 * MIB + 1;
        assert!(is_found(vec![row.clone()]));
        row.read.lo_bytes = 2 * MIB - 1;
        assert!(!is_found(vec![row]));
    }

    #[test]
    fn what_the_program_wrote_is_new() {
        let mut reader = file("/a", 5 * MIB, 50 * MIB, 400 * MS);
        let mut writer = FileRow { pid: 101, read: TransferRow::default(), ..reader.clone() };
        writer.written.bytes = 40 * MIB;
        assert!(is_found(vec![reader.clone(), writer.clone()]));
        writer.written.bytes += 1;
        assert!(!is_found(vec![reader.clone(), writer.clone()]));
        writer.generation = 1;
        assert!(is_found(vec![reader.clone(), writer]), "another file");
        reader.written.bytes = 41 * MIB;
        assert!(!is_found(vec![reader]));
    }

    #[test]
    fn the_disk_is_waited_for_in_the_first_pass() {
        let mut run = of(vec![file("/a", 5 * MIB, 50 * MIB, 500 * MS)]);
        let Seen::Value(calls) = &mut run.tables.syscalls else { panic!("they are there") };
        calls[0].cpu_ns = 500 * MS;
        let on = WaitTarget::File(Seen::Value("/a".into()));
        run.waits = vec![wait(State::Disk, "read", on, 10, 300 * MS, WakerKind::Device)];
        let diagnosis = diagnosis(&run);
        assert_eq!(saves(found(&diagnosis, "repeated-reads").expect("it is there")), (450 * MS, 920 * MS));
    }

    #[test]
    fn past_the_page_cache_the_disk_is_waited_for_in_each() {
        let mut row = file("/a", 5 * MIB, 50 * MIB, 500 * MS);
        row.flags = vec!["O_DIRECT".into()];
        let mut run = of(vec![row]);
        let Seen::Value(calls) = &mut run.tables.syscalls else { panic!("they are there") };
        calls[0].cpu_ns = 500 * MS;
        let on = WaitTarget::File(Seen::Value("/a".into()));
        run.waits = vec![wait(State::Disk, "read", on, 10, 300 * MS, WakerKind::Device)];
        let diagnosis = diagnosis(&run);
        let finding = found(&diagnosis, "repeated-reads").expect("it is there");
        assert_eq!(saves(finding), (720 * MS, 920 * MS));
        assert!(finding.what.0.contains(&" past the page cache (O_DIRECT)".into()), "{:?}", finding.what);
    }

    #[test]
    fn of_calls_in_windows_the_files_have_a_part_of_those_that_were_traced() {
        let mut run = of(vec![file("/a", 5 * MIB, 50 * MIB, 100 * MS)]);
        let Seen::Value(calls) = &mut run.tables.syscalls else { panic!("they are there") };
        calls[0].estimate = Some(Estimate { seen: 250, calls: 1000, lo: 900, hi: Some(1100) });
        let diagnosis = diagnosis(&run);
        let finding = found(&diagnosis, "repeated-reads").expect("it is there");
        assert_eq!(saves(finding), (360 * MS, 560 * MS));
    }

    #[test]
    fn without_bytes_of_files_it_cannot_be_looked_for() {
        let mut run = of(vec![]);
        run.tables.files = Seen::unseen("not in this recording");
        assert!(diagnosis(&run).unavailable.iter().any(|(cause, _)| cause.id == "repeated-reads"));
    }
}
