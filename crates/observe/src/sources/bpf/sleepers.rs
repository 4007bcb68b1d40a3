//! Stacks of threads that were blocked when a window began. The kernel half takes the stack of a
//! wait when its call returns, and a wait that outlasts the window never does.
//!
//! The registers are those that the iterator printed (`alive.rs`), the stack is read from the
//! thread's memory, where no file backs it: a hostile program may have its stack on a filesystem of
//! its own, which answers when it likes, and dwell would wait for it. (A read by `/proc/PID/mem` of
//! memory that userfaultfd serves fails.) A thread that has been woken in between is recorded to
//! have been, so that its stack is not used.

use super::decode::registers;
use super::wire::Found;
use crate::stacks::{RawStack, StackKind};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Stacks that are taken: of large pools a few tell what the others wait for.
const STACKS_MAX: usize = 256;

/// Bytes of each: what a wait is for is known by its innermost functions.
const STACK_LEN: usize = 16 * 1024;

/// Memory is read by the page: the one above the stack may not be there.
const PAGE: usize = 4096;

/// The stacks of those of them that are blocked, as far as their memory may be read.
pub(super) fn stacks(found: &[Found]) -> Vec<RawStack> {
    let mut anonymous = FxHashMap::default();
    let blocked = found.iter().filter(|row| row.regs[0] != 0);
    let stack = |row: &Found| {
        let anonymous =
            anonymous.entry(row.pid).or_insert_with(|| code::anonymous_memory(row.pid).unwrap_or_default());
        stack(row, anonymous)
    };
    blocked.filter_map(stack).take(STACKS_MAX).collect()
}

fn stack(row: &Found, anonymous: &[Range<u64>]) -> Option<RawStack> {
    let registers = registers(row.regs);
    let within = anonymous.iter().find(|range| range.contains(&registers.sp()))?;
    let memory = File::open(format!("/proc/{}/mem", row.pid)).ok()?;
    let user = read(&memory, registers.sp()..within.end);
    (!user.is_empty()).then_some(RawStack {
        tid: row.tid,
        pid: row.pid,
        of: StackKind::Found,
        registers,
        kernel: Vec::new(),
        user,
        python: None,
    })
}

/// What there is of this memory, from its start on.
fn read(memory: &File, range: Range<u64>) -> Vec<u8> {
    let most = STACK_LEN.min((range.end - range.start) as usize);
    let mut bytes = vec![0; most];
    let mut len = 0;
    while len < most {
        let at = range.start + len as u64;
        let page = PAGE - (at % PAGE as u64) as usize;
        let end = most.min(len + page);
        if memory.read_exact_at(&mut bytes[len..end], at).is_err() {
            break;
        }
        len = end;
    }
    bytes.truncate(len);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pid: u32, ip: u64, sp: u64) -> Found {
        Found { tid: pid, pid, regs: [ip, sp, 0, 0, 0, 0, 0, 0] }
    }

    #[test]
    fn a_stack_is_read_up_to_where_memory_ends() {
        let me = std::process::id();
        let near = Box::new([7_u8; 64]);
        let sp = near.as_ptr().addr() as u64;
        let program = stacks as *const () as u64;
        let rows = [(me, 1, sp), (me, 0, sp), (me, 1, 8), (0, 1, sp), (me, 1, program)];
        let all = stacks(&rows.map(|(pid, ip, sp)| found(pid, ip, sp)));
        assert_eq!(all.len(), 1, "one runs, one has no stack, one is no process, one is in a file");
        assert_eq!(all[0].user[..64], *near);
        assert!(all[0].user.len() <= STACK_LEN);
        let many = vec![found(me, 1, sp); STACKS_MAX + 1];
        assert_eq!(stacks(&many).len(), STACKS_MAX);
    }
}
