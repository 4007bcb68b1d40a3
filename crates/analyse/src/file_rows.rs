//! The table of files: what each process read and wrote of them, from the sample that the kernel
//! half took, and within which bounds.

use crate::bounded::{Bounded, Room, Together, leave_out, rows_size, texts};
use crate::calls::Arch;
use crate::names::Names;
use model::files::{
    DurableRow, DurableWrites, FileRow, FileTable, FileUse, FileUses, TransferRow, Transfers,
};
use model::recording::Trailer;
use model::run::ThreadLedger;
use model::{Pid, Seen};

/// All rows, those that moved most first.
pub(crate) fn table(trailer: &Trailer, names: &Names, threads: &[ThreadLedger]) -> Seen<FileTable> {
    trailer.files.as_ref().map(|uses| FileTable {
        rows: uses.files.iter().map(|file| row(file, uses, names, threads)).collect(),
        other_bytes: uses.other_bytes,
        at_least: trailer.sliced.is_some(),
    })
}

fn row(file: &FileUse, uses: &FileUses, names: &Names, threads: &[ThreadLedger]) -> FileRow {
    let flags = [(file.sync, "O_SYNC"), (file.dsync && !file.sync, "O_DSYNC"), (file.direct, "O_DIRECT")];
    FileRow {
        path: path((file.dev, file.ino), &file.name, names),
        device: names.files.device(file.dev),
        inode: file.ino,
        generation: file.generation,
        pid: file.pid,
        program: program(threads, file.pid),
        size_bytes: file.size_bytes,
        read: transfers(&file.read, uses.point_bytes, names.arch),
        written: transfers(&file.written, uses.point_bytes, names.arch),
        flags: flags.into_iter().filter(|(has, _)| *has).map(|(_, name)| name.to_owned()).collect(),
        durable: file.durable.as_ref().and_then(|sum| durable(sum, names.arch)),
        disk: file
            .disk
            .clone()
            .and_then(|sum| if sum.reads + sum.writes > 0 { Seen::Value(sum) } else { Seen::Absent }),
    }
}

/// The last path of that inode may be another file's: it must have the name that this one had.
pub(crate) fn path((dev, ino): (u32, u64), name: &str, names: &Names) -> String {
    let known = names.files.path(names.files.at(dev, ino));
    let has_its_name = |path: &&String| path.rsplit('/').next().is_some_and(|last| last.starts_with(name));
    match known.value().filter(has_its_name) {
        Some(path) => path.clone(),
        None if name.is_empty() => format!("inode {ino} of device {}:{}", dev >> 20, dev & 0xf_ffff),
        None => format!("…/{name}"),
    }
}

pub(crate) fn program(threads: &[ThreadLedger], pid: Pid) -> Seen<String> {
    let leader = threads.iter().find(|thread| thread.pid == pid && thread.tid == pid);
    leader.map_or_else(
        || Seen::unseen("the thread that leads the process was not observed"),
        |leader| Seen::Value(leader.name.clone()),
    )
}

fn durable(sum: &DurableWrites, arch: Arch) -> Seen<DurableRow> {
    let &DurableWrites { calls, bytes, ns, call } = sum;
    let row = |call| DurableRow { call: arch.syscall(call).to_string(), calls, bytes, total_ns: ns };
    call.filter(|_| calls > 0).map_or(Seen::Absent, |call| Seen::Value(row(call)))
}

fn transfers(sum: &Transfers, point_bytes: u64, arch: Arch) -> TransferRow {
    let of_points = sum.points * point_bytes;
    let least = (fewest(sum.points) * point_bytes as f64) as u64;
    TransferRow {
        call: sum.call.map(|call| arch.syscall(call).to_string()).unwrap_or_default(),
        calls: sum.calls,
        bytes: sum.bytes,
        lo_bytes: sum.bytes.saturating_sub(of_points) + least,
        cpu_ns: sum.cpu_ns,
    }
}

/// The low end of the 95 % interval of a number of which a sample has found this many: as of a
/// Poisson process, since what is read of other files meanwhile may be as irregular (Byar's
/// approximation).
fn fewest(points: u64) -> f64 {
    if points == 0 {
        return 0.0;
    }
    let n = points as f64;
    n * (1.0 - 1.0 / (9.0 * n) - 1.96 / (3.0 * n.sqrt())).max(0.0).powi(3)
}

impl Bounded for FileTable {
    fn cut_texts(&mut self) {
        for row in &mut self.rows {
            texts::text(&mut row.path);
            texts::seen(&mut row.device, texts::text);
            texts::seen(&mut row.program, texts::text);
        }
    }

    fn size(&self) -> usize {
        rows_size(&self.rows)
    }

    fn shrink(&mut self, room: Room) -> Option<Together> {
        leave_out(&mut self.rows, room, |row| self.other_bytes += row.read.bytes + row.written.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Call;

    #[test]
    fn a_few_samples_say_little_and_what_was_counted_is_certain() {
        let of = |bytes, points| {
            let sum = Transfers { bytes, calls: 9, cpu_ns: 7, points, call: Some(Call(0)) };
            transfers(&sum, 1 << 18, Arch::X86)
        };
        let row = of((1 << 18) + 1000, 1);
        assert!((1000..20_000).contains(&row.lo_bytes), "one may be chance: {}", row.lo_bytes);
        assert_eq!((&*row.call, row.calls, row.bytes, row.cpu_ns), ("read", 9, (1 << 18) + 1000, 7));
        assert_eq!(of(5 << 20, 0).lo_bytes, 5 << 20);
        // Exactly: 81.4 of 100.
        assert!((fewest(100) - 81.4).abs() < 0.1, "{}", fewest(100));
        assert!((fewest(5) - 1.62).abs() < 0.02, "{}", fewest(5));
    }
}
