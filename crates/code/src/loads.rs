//! The load that an interrupted thread was waiting for, and its address.
//!
//! A clock that interrupts a thread finds it behind the instruction that held it up: a load that
//! waits for memory has just come, and the next instruction has not begun. So the instruction
//! before the interrupted one is looked at first, then the interrupted one. Both are decoded once
//! and kept by their place; from then on a sample costs a look-up and an addition. What addresses
//! mean is left to `analyse`.

mod aarch64;
mod x86_64;

use crate::files::{FileId, Files};
use crate::registers::Registers;
use model::Arch;
use model::loads::SampledLoad;
use rustc_hash::FxHashMap;

/// Places whose loads are kept; with more of them all are forgotten.
const KEPT_MAX: usize = 65_536;

/// Code that is read before the interrupted instruction, and from it on: enough for the loops that
/// matter.
const BEFORE: u64 = 512;
const BEHIND: usize = 512;

/// Memory from the stack pointer upwards, and below it, that counts as the function's own.
const STACK_ABOVE: u64 = 64 << 10;
const STACK_BELOW: u64 = 256;

/// Addresses of programs: beyond the pages that are never mapped, below the kernel's.
const USER: std::ops::Range<u64> = 0x1_0000..1 << 56;

/// A value that was loaded is a pointer by its form if it is one to this boundary, and beyond what
/// counts and sizes are.
const POINTER_ALIGNED: u64 = 4;
const POINTER_MIN: u64 = 1 << 32;

/// What is to be done with registers at a place to know what is loaded there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Load {
    None,
    Near,
    Unknown,
    From(Operand),
}

/// How an address is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Operand {
    /// Registers by their DWARF numbers.
    base: Option<u16>,
    index: Option<u16>,
    extend: Extend,
    /// The index counts this many bytes.
    scale: u64,
    displacement: i64,
    /// The address moves by a constant in the loop around.
    steps: bool,
    /// The base was overwritten by what was loaded: a pointer, or anything.
    follows: bool,
}

/// Which part of an index register counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Extend {
    #[default]
    Whole,
    Low,
    LowSigned,
}

/// The loads at places, as far as they were needed.
#[derive(Debug, Default)]
pub(crate) struct Loads(FxHashMap<(FileId, u64), Option<Load>>);

impl Loads {
    /// The load of this place, decoded once.
    pub(crate) fn at(
        &mut self,
        place: (FileId, u64),
        files: &mut Files,
        registers: &Registers,
    ) -> Option<SampledLoad> {
        if let Some(load) = self.0.get(&place) {
            return Some(load.as_ref()?.at(registers));
        }
        let load = decode(place, files);
        if self.0.len() >= KEPT_MAX {
            self.0.clear();
        }
        self.0.insert(place, load);
        Some(load?.at(registers))
    }
}

fn decode((file, address): (FileId, u64), files: &mut Files) -> Option<Load> {
    let start = files.function_start(file, address);
    let image = &files.module(file)?.image;
    // Instructions of x86_64 have no fixed length. Decoding that begins amid one is in step with
    // the others after a few, as a rule; where it is not, nothing is told.
    let from = address.saturating_sub(BEFORE).max(start.unwrap_or(0)) & !3;
    let from = start.filter(|start| *start > from).unwrap_or(from);
    let before = usize::try_from(address.checked_sub(from)?).ok()?;
    let bytes = image.code_from(from, before + BEHIND)?;
    match image.arch {
        Arch::X86_64 => x86_64::load(&bytes, from, address),
        Arch::Aarch64 => aarch64::load(&bytes, before),
        // Its instructions are not decoded: what they load is not told.
        Arch::Riscv64 => None,
    }
}

/// Decodes the load at `at` of some code, on both architectures.
#[cfg(any(test, fuzzing))]
pub(crate) fn decoded(code: &[u8], at: usize) {
    let registers = Registers::x86_64(0x1000, 0x7fff_0000_0000, 0).with(0, 0x5_5000_0000);
    let loads = [x86_64::load(code, 0x1000, 0x1000 + at as u64), aarch64::load(code, at)];
    let _ = loads.map(|load| load.map(|load| load.at(&registers)));
}

impl Load {
    fn at(self, registers: &Registers) -> SampledLoad {
        match self {
            Load::None => SampledLoad::None,
            Load::Near => SampledLoad::Near,
            Load::Unknown => SampledLoad::Unknown,
            Load::From(operand) => operand.at(registers).unwrap_or(SampledLoad::Unknown),
        }
    }
}

impl Operand {
    fn at(self, registers: &Registers) -> Option<SampledLoad> {
        let value = |number: Option<u16>| number.map_or(Some(0), |number| registers.get(number));
        let index = value(self.index)?;
        let index = match self.extend {
            Extend::Whole => index,
            Extend::Low => u64::from(index as u32),
            Extend::LowSigned => i64::from(index as i32) as u64,
        };
        let base = value(self.base)?;
        let address =
            base.wrapping_add(index.wrapping_mul(self.scale)).wrapping_add_signed(self.displacement);
        let own = registers.sp().saturating_sub(STACK_BELOW)..registers.sp().saturating_add(STACK_ABOVE);
        if own.contains(&address) {
            return Some(SampledLoad::Near);
        }
        let is_pointer = base >= POINTER_MIN && base.is_multiple_of(POINTER_ALIGNED);
        let ok = USER.contains(&address) && (is_pointer || !self.follows);
        ok.then_some(SampledLoad::At { address, steps: self.steps })
    }
}

/// The load that is told of several: the instructions that may have been the last before, then the
/// interrupted one. One with an address goes before one without.
fn first(loads: impl IntoIterator<Item = Load> + Clone) -> Load {
    let all = || loads.clone().into_iter();
    let known = all().find(|load| matches!(load, Load::From(_)));
    let less = |load| all().find(|other| *other == load);
    known.or_else(|| less(Load::Unknown)).or_else(|| less(Load::Near)).unwrap_or(Load::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SP: u64 = 0x7fff_0000_0000;

    fn registers() -> Registers {
        Registers::x86_64(0x1000, SP, 0).with(0, 0x5_5000_0000).with(1, 0xffff_ffff_0000_0002)
    }

    #[test]
    fn an_address_is_base_index_and_displacement() {
        let operand =
            Operand { base: Some(0), index: Some(1), scale: 8, displacement: -4, ..Operand::default() };
        let at = |operand: Operand| operand.at(&registers());
        let whole = 0x5_5000_0000_u64.wrapping_add(0xffff_ffff_0000_0002_u64.wrapping_mul(8)).wrapping_sub(4);
        assert!(!USER.contains(&whole) && at(operand).is_none());
        let low = Operand { extend: Extend::Low, ..operand };
        assert_eq!(at(low), Some(SampledLoad::At { address: 0x5_5000_000c, steps: false }));
        let unread = Operand { base: Some(9), ..operand };
        assert_eq!(at(unread), None, "a register that is not known");
    }

    #[test]
    fn the_stack_is_near_and_what_is_no_pointer_is_unknown() {
        let on_stack = Operand { base: Some(7), displacement: 40, ..Operand::default() };
        assert_eq!(on_stack.at(&registers()), Some(SampledLoad::Near));
        let follows = Operand { base: Some(0), follows: true, ..Operand::default() };
        assert_eq!(follows.at(&registers()), Some(SampledLoad::At { address: 0x5_5000_0000, steps: false }));
        for no_pointer in [0, 77, 0x5000_0000, 0x5_5000_0001, u64::MAX - 3] {
            assert_eq!(Load::From(follows).at(&registers().with(0, no_pointer)), SampledLoad::Unknown);
        }
    }

    #[test]
    fn a_load_with_an_address_goes_before_others() {
        let known = Load::From(Operand::default());
        assert_eq!(first([Load::Unknown, known]), known);
        assert_eq!(first([Load::Near, Load::Unknown]), Load::Unknown);
        assert_eq!(first([Load::None, Load::Near]), Load::Near);
        assert_eq!(first([]), Load::None);
    }
}
