//! The bytes of perf records, turned into what they say. Pure; `perf` says which events ask for them.

use model::recording::Comm;
use model::{Ns, Pid, Tid};
use sys::perf_event::RECORD_HEADER_LEN;
use sys::perf_event::bindings::*;

/// What every event asks to be told with each record; the layouts below follow from it.
pub(super) const SAMPLE_TYPE: u64 =
    (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU) as u64;

/// Who, when and where, at the end of every record but a sample: pid, tid, time, cpu and a gap.
const TRAILER_LEN: usize = 24;

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) at: Ns,
    /// The thread in whose time it was written.
    pub(super) tid: Tid,
    pub(super) cpu: u32,
    pub(super) what: What,
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    SwitchedIn,
    SwitchedOut { runnable: bool },
    Forked { pid: Pid, tid: Tid, creator: Tid },
    Exited { pid: Pid, tid: Tid },
    Named { pid: Pid, tid: Tid, name: Comm, exec: bool },
    Sampled { user: bool, ip: u64 },
    Lost { records: u64 },
}

/// Decodes one record, header included; `None` for kinds that were not asked for or too short for their kind.
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
        // The event's id, then how many.
        PERF_RECORD_LOST => What::Lost { records: u64_at(body, 8)? },
        PERF_RECORD_LOST_SAMPLES => What::Lost { records: u64_at(body, 0)? },
        _ => return None,
    };
    Some(Record { at: u64_at(trailer, 8)?, tid: u32_at(trailer, 4)?, cpu: u32_at(trailer, 16)?, what })
}

/// ip, pid, tid, time, cpu.
fn sample(body: &[u8], misc: u32) -> Option<Record> {
    let mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
    let user = mode == PERF_RECORD_MISC_USER || mode == PERF_RECORD_MISC_GUEST_USER;
    let what = What::Sampled { user, ip: u64_at(body, 0)? };
    Some(Record { at: u64_at(body, 16)?, tid: u32_at(body, 12)?, cpu: u32_at(body, 24)?, what })
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
        let body = [0xabc_u64.to_ne_bytes().to_vec(), words(&[10, 11, 77, 0, 3, 0])].concat();
        let seen = |misc| decode(&record(PERF_RECORD_SAMPLE, misc, &body)).unwrap();
        let expect = |user| Record { at: 77, tid: 11, cpu: 3, what: What::Sampled { user, ip: 0xabc } };
        assert_eq!(seen(PERF_RECORD_MISC_USER), expect(true));
        assert_eq!(seen(PERF_RECORD_MISC_KERNEL), expect(false));
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
