//! Records of the ring of stacks.

use super::super::wire::{self, Head, Kind};
use super::fields::{Malformed, known, mode, read};
use crate::counters;
use crate::machine;
use crate::stacks::{CountedAt, RawStack, StackKind};
use code::Registers;
use model::Ns;
use python::record::{K_PYTHON, K_PYTHON_CODE};

/// Those of a record without scratch registers.
pub(crate) fn registers(kept: [u64; 8]) -> Registers {
    machine::here().of_bpf(kept, &[])
}

/// All registers of a record.
fn all_registers(stack: &wire::Stack) -> Registers {
    let scratch = stack.scratch.get(..stack.scratch_regs as usize).unwrap_or(&stack.scratch);
    machine::here().of_bpf(stack.regs, scratch)
}

/// A record of the ring of stacks.
pub(crate) enum OfStacks {
    Stack(Ns, Box<RawStack>),
    /// Where a counter of the processor overflowed.
    Counted(Ns, CountedAt),
    /// The Python part of the stack that comes next for its thread.
    Python(python::record::Stack),
    /// A description of a Python code object.
    Described(Ns),
}

/// Reads one record of the ring of stacks. None when it is cut short or of another kind.
pub(crate) fn of_stacks(record: &[u8]) -> Option<OfStacks> {
    let (head, _): (&Head, _) = read(record).ok()?;
    match head.kind {
        K_PYTHON => python::record::stack(record).map(OfStacks::Python),
        K_PYTHON_CODE => Some(OfStacks::Described(head.at)),
        kind if kind == Kind::Counted as u8 => counted(record),
        _ => stack(record).ok().map(|(at, stack)| OfStacks::Stack(at, Box::new(stack))),
    }
}

fn counted(record: &[u8]) -> Option<OfStacks> {
    let (wire::Counted { head, ip, period, pid, .. }, _) = read(record).ok()?;
    let kernel = wire::Mode::from_wire(head.a)? != wire::Mode::User;
    let counter = counters::of_period(*period)?;
    let counted = CountedAt { tid: head.tid, pid: *pid, counter, count: *period, kernel, ip: *ip };
    Some(OfStacks::Counted(head.at, counted))
}

fn stack(record: &[u8]) -> Result<(Ns, RawStack), Malformed> {
    let (stack, user): (&wire::Stack, _) = read(record)?;
    let of = match Kind::from_wire(stack.head.kind) {
        Some(Kind::SampleStack) => StackKind::Sample {
            mode: mode(stack.head.a, stack.call)?,
            period_ns: u32::try_from(stack.stands_for_ns).unwrap_or(u32::MAX),
        },
        Some(Kind::WaitStack) => StackKind::Wait { weight_ns: stack.stands_for_ns, call: known(stack.call) },
        Some(Kind::FaultStack) => StackKind::Fault,
        Some(Kind::FaultSampleStack) => StackKind::FaultSample,
        Some(Kind::WakerStack) => StackKind::Waker { woken: stack.call, woken_at: stack.stands_for_ns },
        _ => return Err(Malformed),
    };
    let at = stack.head.at;
    let entries = stack.kernel_len as usize / size_of::<u64>();
    let stack = RawStack {
        tid: stack.head.tid,
        pid: stack.pid,
        of,
        registers: all_registers(stack),
        kernel: stack.kernel.iter().take(entries).copied().collect(),
        user: user.to_vec(),
        python: None,
    };
    Ok((at, stack))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::counters::Counter;
    use zerocopy::IntoBytes;

    #[test]
    fn an_overflow_is_of_the_counter_that_has_its_period() {
        let of = |a: u8, period: u64| wire::Counted {
            head: Head { at: 9, kind: Kind::Counted as u8, a, flags: 0, calls: 0, tid: 7 },
            ip: 0x1234,
            period,
            pid: 6,
            pad: 0,
        };
        let (user, call) = (wire::Mode::User as u8, wire::Mode::Call as u8);
        let record = of(call, 20_021);
        let Some(OfStacks::Counted(9, counted)) = of_stacks(record.as_bytes()) else { panic!("{record:?}") };
        assert_eq!(
            (counted.counter, counted.count, counted.kernel),
            (Counter::LastLevelMisses, 20_021, true)
        );
        assert_eq!((counted.tid, counted.pid, counted.ip), (7, 6, 0x1234));
        let record = of(user, 12_000_018);
        let Some(OfStacks::Counted(_, counted)) = of_stacks(record.as_bytes()) else { panic!("{record:?}") };
        assert_eq!((counted.counter, counted.kernel), (Counter::Instructions, false));
        for odd in [of(user, 1), of(99, 20_021)] {
            assert!(of_stacks(odd.as_bytes()).is_none(), "{odd:?}");
        }
        assert!(of_stacks(&record.as_bytes()[..record.as_bytes().len() - 8]).is_none());
    }
}
