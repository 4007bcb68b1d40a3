//! Stacks of threads that were blocked when a window began. The kernel half takes the stack of a
//! wait when its call returns, and a wait that outlasts the window never does.
//!
//! The registers are those that the iterator printed (`alive.rs`), the stack is read from the
//! thread's memory. A thread that has been woken in between is recorded to have been, so that its
//! stack is not used.

use super::decode::registers;
use super::wire::Found;
use crate::stacks::{Of, RawStack};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Stacks that are taken: of large pools a few tell what the others wait for.
const STACKS_MAX: usize = 256;

/// Bytes of each: what a wait is for is known by its innermost functions.
const STACK_LEN: usize = 16 * 1024;

/// Memory is read by the page: the one above the stack may not be there.
const PAGE: usize = 4096;

/// The stacks of those of them that are blocked, as far as their memory may be read.
pub(super) fn stacks(found: &[Found], proc: &Path) -> Vec<RawStack> {
    let blocked = found.iter().filter(|row| row.regs[0] != 0);
    blocked.filter_map(|row| stack(row, proc)).take(STACKS_MAX).collect()
}

fn stack(row: &Found, proc: &Path) -> Option<RawStack> {
    let registers = registers(row.regs);
    let memory = File::open(proc.join(row.pid.to_string()).join("mem")).ok()?;
    let user = read(&memory, registers.sp());
    (!user.is_empty()).then_some(RawStack {
        tid: row.tid,
        pid: row.pid,
        of: Of::Found,
        registers,
        kernel: Vec::new(),
        user,
        python: None,
    })
}

/// What there is from this address on.
fn read(memory: &File, from: u64) -> Vec<u8> {
    let mut bytes = vec![0; STACK_LEN];
    let mut len = 0;
    while len < STACK_LEN {
        let Some(at) = from.checked_add(len as u64) else { break };
        let page = PAGE - (at % PAGE as u64) as usize;
        let end = STACK_LEN.min(len + page);
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
        let proc = Path::new("/proc");
        let all = stacks(&[found(me, 1, sp), found(me, 0, sp), found(me, 1, 8), found(0, 1, sp)], proc);
        assert_eq!(all.len(), 1, "one runs, one has no stack, and one is no process");
        assert_eq!(all[0].user[..64], *near);
        assert!(all[0].user.len() <= STACK_LEN);
        let many = vec![found(me, 1, sp); STACKS_MAX + 1];
        assert_eq!(stacks(&many, proc).len(), STACKS_MAX);
    }
}
