//! What observing needs to know of each architecture: which registers the kernel halves record, the
//! names of system calls, and where C libraries lie. All are here on every architecture, so that
//! what one of them records is tested on the others.

mod aarch64;
mod riscv64;
mod x86_64;

use code::Registers;
use model::Arch;

/// Stands for the address of the next instruction, which has no DWARF number here.
const INSTRUCTION: u16 = u16::MAX;

/// An architecture.
#[derive(Debug)]
pub(crate) struct Machine {
    arch: Arch,
    /// Registers of a sample by perf, by the numbers of the kernel's `asm/perf_regs.h` (records
    /// have them in this order), each with its DWARF number: all general ones, since with them the
    /// address of a load is known.
    perf: &'static [(u8, u16)],
    /// `USER_REGS` of `kernel.h` after the first, which is the instruction, and `SCRATCH_REGS`, by
    /// their DWARF numbers.
    kept: [u16; 7],
    scratch: &'static [u16],
    /// Names of calls by number, in its own table and in that of its 32-bit programs.
    native: fn(usize) -> Option<&'static str>,
    compat: fn(usize) -> Option<&'static str>,
    /// Numbers of calls.
    pub(crate) execve: u32,
    /// `read`, `recvfrom`, `readv`, `recvmsg`.
    pub(crate) receives: [u32; 4],
    /// In both tables.
    pub(crate) rt_sigreturn: [u32; 2],
    /// Paths of C libraries: Debian's, Fedora's, Arch's and Alpine's.
    pub(crate) libraries: &'static [&'static str],
}

/// That of this machine.
pub(crate) fn here() -> &'static Machine {
    of(Arch::HERE)
}

fn of(arch: Arch) -> &'static Machine {
    match arch {
        Arch::X86_64 => &x86_64::MACHINE,
        Arch::Aarch64 => &aarch64::MACHINE,
        Arch::Riscv64 => &riscv64::MACHINE,
    }
}

impl Machine {
    /// The registers that perf is asked for, as the kernel's mask, and how many they are.
    pub(crate) fn perf_mask(&self) -> u64 {
        self.perf.iter().map(|(number, _)| 1_u64 << number).sum()
    }

    /// How many they are.
    pub(crate) fn perf_registers(&self) -> usize {
        self.perf.len()
    }

    /// Those of a sample by perf.
    pub(crate) fn of_perf(&self, values: impl Iterator<Item = u64>) -> Registers {
        self.registers(self.perf.iter().map(|(_, number)| *number).zip(values))
    }

    /// Those of a record of the kernel half: what is kept of every one, and the others of some.
    pub(crate) fn of_bpf(&self, kept: [u64; 8], scratch: &[u64]) -> Registers {
        let numbers = std::iter::once(INSTRUCTION).chain(self.kept);
        let scratch = self.scratch.iter().copied().zip(scratch.iter().copied());
        self.registers(numbers.zip(kept).chain(scratch))
    }

    fn registers(&self, values: impl Iterator<Item = (u16, u64)>) -> Registers {
        values.fold(Registers::none(self.arch), |all, (number, value)| match number {
            INSTRUCTION => all.at(value),
            number => all.with(number, value),
        })
    }

    /// The call of this number in its own table.
    pub(crate) fn native(&self, number: usize) -> Option<&'static str> {
        (self.native)(number)
    }

    /// The call of this number in that of its 32-bit programs.
    pub(crate) fn compat(&self, number: usize) -> Option<&'static str> {
        (self.compat)(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Arch; 3] = [Arch::X86_64, Arch::Aarch64, Arch::Riscv64];

    #[test]
    fn a_sample_has_its_registers_at_their_numbers() {
        let at = |arch, values: &[u64]| of(arch).of_perf(values.iter().copied());
        let numbered = |len| (0..len).collect::<Vec<u64>>();
        // perf's own order: ax bx cx dx si di bp sp ip, r8…; x0…x30 sp pc; pc, x1….
        let x86 = Registers::x86_64(8, 7, 6).with(0, 0).with(3, 1).with(2, 2).with(1, 3);
        let x86 = (9..17).fold(x86.with(4, 4).with(5, 5), |all, at| all.with(at - 1, at.into()));
        assert_eq!(at(Arch::X86_64, &numbered(17)), x86);
        let arm = Registers::aarch64(32, 31, 29, 30);
        let arm = (0..29).fold(arm, |all, number| all.with(number, number.into()));
        assert_eq!(at(Arch::Aarch64, &numbered(33)), arm);
        let riscv = Registers::riscv64(0, 2, 8, 1);
        let riscv = (3..32).fold(riscv, |all, number| all.with(number, number.into()));
        assert_eq!(at(Arch::Riscv64, &numbered(32)), riscv);
    }

    #[test]
    fn a_record_of_the_kernel_half_has_those_of_its_machine() {
        let kept = [10, 11, 12, 13, 14, 15, 16, 17];
        let x86 = of(Arch::X86_64).of_bpf(kept, &[20]);
        let expected = Registers::x86_64(10, 11, 12).with(3, 13).with(12, 14).with(13, 15);
        assert_eq!(x86, expected.with(14, 16).with(15, 17).with(0, 20));
        let arm = of(Arch::Aarch64).of_bpf(kept, &[]);
        let expected = Registers::aarch64(10, 11, 12, 13).with(19, 14).with(20, 15).with(21, 16);
        assert_eq!(arm, expected.with(22, 17));
    }

    #[test]
    fn calls_are_named_by_the_table_of_the_machine() {
        let named = |arch: Arch, name| (of(arch).native)(of(arch).execve as usize) == Some(name);
        assert!(ALL.into_iter().all(|arch| named(arch, "execve")));
        for arch in ALL {
            let names = of(arch).receives.map(|number| (of(arch).native)(number as usize));
            assert_eq!(names, ["read", "recvfrom", "readv", "recvmsg"].map(Some));
        }
        for arch in ALL {
            let [native, compat] = of(arch).rt_sigreturn;
            assert_eq!(of(arch).native(native as usize), Some("rt_sigreturn"), "{arch:?}");
            let of_32_bits = of(arch).compat(compat as usize);
            assert!(of_32_bits == Some("rt_sigreturn") || arch == Arch::Riscv64, "{arch:?}");
        }
    }
}
