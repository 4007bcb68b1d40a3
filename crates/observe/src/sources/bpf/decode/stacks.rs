//! Records of the ring of stacks.

use super::super::wire::{self, Head, Kind};
use super::fields::{Malformed, known, mode, read};
use crate::counters;
use crate::stacks::{CountedAt, Of, RawStack};
use code::Registers;
use model::Ns;
use python::record::{K_PYTHON, K_PYTHON_CODE};

/// `USER_REGS` of `kernel.h`, by their DWARF numbers.
#[cfg(target_arch = "x86_64")]
pub(crate) fn registers([ip, sp, bp, bx, r12, r13, r14, r15]: [u64; 8]) -> Registers {
    let kept = [(3, bx), (12, r12), (13, r13), (14, r14), (15, r15)];
    kept.into_iter().fold(Registers::x86_64(ip, sp, bp), |all, (number, value)| all.with(number, value))
}

/// `USER_REGS` of `kernel.h`, by their DWARF numbers.
#[cfg(target_arch = "aarch64")]
pub(crate) fn registers([pc, sp, fp, lr, x19, x20, x21, x22]: [u64; 8]) -> Registers {
    let kept = [(19, x19), (20, x20), (21, x21), (22, x22)];
    kept.into_iter().fold(Registers::aarch64(pc, sp, fp, lr), |all, (number, value)| all.with(number, value))
}

/// `SCRATCH_REGS` of `kernel.h`, by their DWARF numbers.
#[cfg(target_arch = "x86_64")]
const SCRATCH: [u16; 9] = [0, 1, 2, 4, 5, 8, 9, 10, 11];
/// `SCRATCH_REGS` of `kernel.h`, by their DWARF numbers.
#[cfg(target_arch = "aarch64")]
const SCRATCH: [u16; 19] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18];

/// All registers of a record.
fn all_registers(stack: &wire::Stack) -> Registers {
    let scratch = SCRATCH.into_iter().zip(stack.scratch).take(stack.scratch_regs as usize);
    scratch.fold(registers(stack.regs), |all, (number, value)| all.with(number, value))
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
        Some(Kind::SampleStack) => Of::Sample {
            mode: mode(stack.head.a, stack.call)?,
            period_ns: u32::try_from(stack.stands_for_ns).unwrap_or(u32::MAX),
        },
        Some(Kind::WaitStack) => Of::Wait { weight_ns: stack.stands_for_ns, call: known(stack.call) },
        Some(Kind::FaultStack) => Of::Fault,
        Some(Kind::FaultSampleStack) => Of::FaultSample,
        Some(Kind::WakerStack) => Of::Waker { woken: stack.call, woken_at: stack.stands_for_ns },
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
