//! Decodes the bytes of perf records. Pure: `perf` opens the events of a program, `bpf/mappings`
//! those of mappings.

use crate::machine;
use code::{Mapping, Registers};
use model::recording::Comm;
use model::{Ns, Pid, Tid};
use sys::perf_event::RECORD_HEADER_LEN;
use sys::perf_event::bindings::*;

/// The fields that every event requests with each record; they determine the layouts below.
pub(super) const SAMPLE_TYPE: u64 =
    (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD) as u64;

/// The trailer of every record but a sample: pid, tid, time, cpu and padding.
const TRAILER_LEN: usize = 24;

/// Additional fields of a sample: the kernel stack as addresses, the user stack as a copy.
pub(super) const STACK_TYPE: u64 =
    (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER) as u64;

/// A stack, copied by the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Copied {
    pub(super) pid: Pid,
    pub(super) registers: Registers,
    /// Addresses in the kernel, the innermost first.
    pub(super) kernel: Vec<u64>,
    /// The user stack, from the stack pointer upwards.
    pub(super) user: Vec<u8>,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) at: Ns,
    /// The thread in whose context it was written.
    pub(super) tid: Tid,
    pub(super) cpu: u32,
    pub(super) what: What,
}

/// The content of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    SwitchedIn,
    SwitchedOut {
        runnable: bool,
    },
    Forked {
        pid: Pid,
        tid: Tid,
        creator: Tid,
    },
    Exited {
        pid: Pid,
        tid: Tid,
    },
    Named {
        pid: Pid,
        tid: Tid,
        name: Comm,
        exec: bool,
    },
    /// `period`: how much it stands for, which tells what was sampled.
    Sampled {
        user: bool,
        pid: Pid,
        ip: u64,
        period: u64,
        stack: Option<Box<Copied>>,
    },
    Mapped {
        pid: Pid,
        mapping: Mapping,
    },
    Lost {
        records: u64,
    },
}

/// Decodes one record, header included; `None` for kinds that were not requested or are too short.
pub(super) fn decode(record: &[u8]) -> Option<Record> {
    let kind = u32_at(record, 0)?;
    let misc = u32::from(u16::from_ne_bytes(record.get(4..6)?.try_into().ok()?));
    let body = record.get(RECORD_HEADER_LEN..)?;
    if kind == PERF_RECORD_SAMPLE {
        return sample(body, misc);
    }
    let (body, trailer) = body.split_at_checked(body.len().checked_sub(TRAILER_LEN)?)?;
    let what = match kind {
        PERF_RECORD_SWITCH if misc & PERF_RECORD_MISC_SWITCH_OUT == 0 => What::SwitchedIn,
        PERF_RECORD_SWITCH => What::SwitchedOut { runnable: misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT != 0 },
        // pid, parent's pid, tid, parent's tid, time.
        PERF_RECORD_FORK => {
            What::Forked { pid: u32_at(body, 0)?, tid: u32_at(body, 8)?, creator: u32_at(body, 12)? }
        }
        PERF_RECORD_EXIT => What::Exited { pid: u32_at(body, 0)?, tid: u32_at(body, 8)? },
        PERF_RECORD_COMM => What::Named {
            pid: u32_at(body, 0)?,
            tid: u32_at(body, 4)?,
            name: comm(body.get(8..)?),
            exec: misc & PERF_RECORD_MISC_COMM_EXEC != 0,
        },
        PERF_RECORD_MMAP2 => What::Mapped { pid: u32_at(body, 0)?, mapping: mapping(body)? },
        // The event's id, then how many.
        PERF_RECORD_LOST => What::Lost { records: u64_at(body, 8)? },
        PERF_RECORD_LOST_SAMPLES => What::Lost { records: u64_at(body, 0)? },
        _ => return None,
    };
    Some(Record { at: u64_at(trailer, 8)?, tid: u32_at(trailer, 4)?, cpu: u32_at(trailer, 16)?, what })
}

/// pid, tid, address, length, offset, device (major, minor), inode, its generation, protection,
/// flags, name.
fn mapping(body: &[u8]) -> Option<Mapping> {
    let start = u64_at(body, 8)?;
    let name = body.get(64..)?;
    let len = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    Some(Mapping {
        start,
        end: start.checked_add(u64_at(body, 16)?)?,
        file_offset: u64_at(body, 24)?,
        path: name[..len].to_vec(),
        dev: (u32_at(body, 32)?, u32_at(body, 36)?),
        inode: u64_at(body, 40)?,
    })
}

/// ip, pid, tid, time, cpu, padding, period; then the stack.
fn sample(body: &[u8], misc: u32) -> Option<Record> {
    let mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
    let user = mode == PERF_RECORD_MISC_USER || mode == PERF_RECORD_MISC_GUEST_USER;
    let pid = u32_at(body, 8)?;
    let stack = stack(pid, body.get(40..).unwrap_or_default()).map(Box::new);
    let what = What::Sampled { user, pid, ip: u64_at(body, 0)?, period: u64_at(body, 32)?, stack };
    Some(Record { at: u64_at(body, 16)?, tid: u32_at(body, 12)?, cpu: u32_at(body, 24)?, what })
}

/// The number of addresses, the addresses; the ABI of the registers, the registers; the size of the
/// stack copy, its bytes, the number of valid ones. None when the thread has no user stack.
fn stack(pid: Pid, body: &[u8]) -> Option<Copied> {
    // The addresses include context markers, at the very end of the range.
    const MARKS: u64 = -4095_i64 as u64;
    // Registers of a 64-bit program.
    const ABI_64: u64 = 2;
    let addresses = usize::try_from(u64_at(body, 0)?).ok().filter(|addresses| *addresses < body.len())?;
    let kernel = (0..addresses).map(|index| u64_at(body, 8 + index * 8)).collect::<Option<Vec<_>>>()?;
    let body = body.get(8 + addresses * 8..)?;
    if u64_at(body, 0)? != ABI_64 {
        return None;
    }
    let machine = machine::here();
    let (values, body) = body[8..].split_at_checked(8 * machine.perf_registers())?;
    let values = values.as_chunks().0.iter().map(|value| u64::from_ne_bytes(*value));
    let room = usize::try_from(u64_at(body, 0)?).ok()?;
    let bytes = body.get(8..8_usize.checked_add(room)?)?;
    let there = if room == 0 { 0 } else { usize::try_from(u64_at(body, 8 + room)?).ok()? };
    Some(Copied {
        pid,
        registers: machine.of_perf(values),
        kernel: kernel.into_iter().filter(|address| *address < MARKS).collect(),
        user: bytes[..there.min(room)].to_vec(),
    })
}

fn comm(bytes: &[u8]) -> Comm {
    let mut name = [0; 16];
    let len = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()).min(15);
    name[..len].copy_from_slice(&bytes[..len]);
    Comm(name)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of `kind` and `misc` around `body`.
    fn record(kind: u32, misc: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend((misc as u16).to_ne_bytes());
        bytes.extend(((body.len() + RECORD_HEADER_LEN) as u16).to_ne_bytes());
        bytes.extend(body);
        bytes
    }

    /// pid 10, tid 11, at 77, cpu 3.
    fn with_trailer(body: &[u8]) -> Vec<u8> {
        let mut bytes = body.to_vec();
        bytes.extend([10_u32, 11].iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend(77_u64.to_ne_bytes());
        bytes.extend([3_u32, 0].iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn check(kind: u32, misc: u32, body: &[u8], what: What) {
        let bytes = record(kind, misc, &with_trailer(body));
        assert_eq!(decode(&bytes), Some(Record { at: 77, tid: 11, cpu: 3, what }));
    }

    #[test]
    fn each_kind_is_read_at_its_place() {
        check(PERF_RECORD_SWITCH, 0, &[], What::SwitchedIn);
        let out = PERF_RECORD_MISC_SWITCH_OUT;
        check(PERF_RECORD_SWITCH, out, &[], What::SwitchedOut { runnable: false });
        let preempted = out | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
        check(PERF_RECORD_SWITCH, preempted, &[], What::SwitchedOut { runnable: true });
        let task = words(&[20, 10, 21, 11, 77, 0]);
        check(PERF_RECORD_FORK, 0, &task, What::Forked { pid: 20, tid: 21, creator: 11 });
        check(PERF_RECORD_EXIT, 0, &task, What::Exited { pid: 20, tid: 21 });
        let named = [words(&[10, 11]), b"sleep\0\0\0".to_vec()].concat();
        let name = Comm::from("sleep");
        check(PERF_RECORD_COMM, 0, &named, What::Named { pid: 10, tid: 11, name, exec: false });
        let exec = PERF_RECORD_MISC_COMM_EXEC;
        check(PERF_RECORD_COMM, exec, &named, What::Named { pid: 10, tid: 11, name, exec: true });
        check(PERF_RECORD_LOST, 0, &words(&[1, 0, 99, 0]), What::Lost { records: 99 });
    }

    #[test]
    fn a_sample_has_its_own_order() {
        let body = [0xabc_u64.to_ne_bytes().to_vec(), words(&[10, 11, 77, 0, 3, 0, 20_011, 0])].concat();
        let seen = |misc| decode(&record(PERF_RECORD_SAMPLE, misc, &body)).unwrap();
        let expect = |user| {
            let what = What::Sampled { user, pid: 10, ip: 0xabc, period: 20_011, stack: None };
            Record { at: 77, tid: 11, cpu: 3, what }
        };
        assert_eq!(seen(PERF_RECORD_MISC_USER), expect(true));
        assert_eq!(seen(PERF_RECORD_MISC_KERNEL), expect(false));
    }

    #[test]
    fn a_stack_comes_after_the_sample() {
        let mut body = [0xabc_u64.to_ne_bytes().to_vec(), words(&[10, 11, 77, 0, 3, 0, 1, 0])].concat();
        let mut word = |word: u64| body.extend(word.to_ne_bytes());
        // A marker and two addresses; registers; 16 bytes, 8 of them valid.
        [3, -128_i64 as u64, 0xffff_ffff_8100_0000, 0xffff_ffff_8200_0000].into_iter().for_each(&mut word);
        word(2);
        (1..=machine::here().perf_registers() as u64).for_each(&mut word);
        [16, 0x1122, 0, 8].into_iter().for_each(&mut word);
        let whole = record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, &body);
        let Some(Record { what: What::Sampled { stack: Some(stack), .. }, .. }) = decode(&whole) else {
            panic!("no stack");
        };
        assert_eq!((stack.pid, stack.kernel.len(), stack.user.len()), (10, 2, 8));
        assert_eq!(stack.registers, machine::here().of_perf(1..));
        for len in 0..whole.len() {
            let _ = decode(&whole[..len]);
        }
    }

    #[test]
    fn no_prefix_of_a_record_panics() {
        let whole = record(PERF_RECORD_FORK, 0, &with_trailer(&words(&[20, 10, 21, 11, 77, 0])));
        for len in 0..whole.len() {
            let _ = decode(&whole[..len]);
        }
        assert_eq!(decode(&whole[..20]), None);
    }
}
