//! Whether what a probe imposes is what a finding says is missing: causes name one of these beside
//! their probe.

use super::file_calls::{SYNCS, WRITES};
use model::finding::RowRef;
use model::run::WaitRow;
use model::{Finding, Run, Seen, State, WaitTarget};

/// For a cause all of whose findings have its probe.
pub(super) fn always(_: &Finding, _: &Run) -> bool {
    true
}

/// Whether the finding is of calls that do nothing but flush.
pub(super) fn flushes(finding: &Finding, run: &Run) -> bool {
    call(finding, run).is_some_and(|name| SYNCS.contains(&name))
}

/// Whether there are files that could be read before.
pub(super) fn reads_files(_: &Finding, run: &Run) -> bool {
    !files(run).is_empty()
}

/// Whether a finding is of writes that are durable by themselves, which no probe skips.
pub fn writes_durably(finding: &Finding, run: &Run) -> bool {
    finding.cause.id == "sync-writes" && call(finding, run).is_some_and(|name| WRITES.contains(&name))
}

/// The files that the program read from a disk, those waited for longest first.
pub fn files(run: &Run) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for path in run.waits.iter().filter_map(read_from_disk) {
        if !files.iter().any(|known| known == path) {
            files.push(path.to_owned());
        }
    }
    files
}

/// A path from the root: others are names of files that cannot be found again.
fn read_from_disk(wait: &WaitRow) -> Option<&str> {
    let WaitTarget::File(Seen::Value(path)) = &wait.on else { return None };
    let writes = |name: &str| WRITES.contains(&name) || SYNCS.contains(&name);
    let reads = wait.reason == State::Disk && !wait.call.syscall().is_some_and(|call| writes(&call.name));
    (reads && path.starts_with('/')).then_some(path)
}

/// The call that a finding points to.
fn call<'a>(finding: &Finding, run: &'a Run) -> Option<&'a str> {
    match finding.place {
        RowRef::Wait(row) => run.waits.get(row)?.call.syscall().map(|call| &*call.name),
        RowRef::Call(row) => run.tables.syscalls.value()?.get(row).map(|row| &*row.name.name),
        _ => None,
    }
}

/// Whether the finding is about other programs, seen by name or not: that time was waited behind
/// them. Behind threads of its own it may be none.
pub(super) fn is_behind_others(finding: &Finding, _: &Run) -> bool {
    finding.share_ns.lo > 0
}
