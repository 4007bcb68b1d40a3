//! The registers of a thread, by their DWARF numbers.

use model::Arch;

/// Registers of a thread: its instruction pointer, and those that unwinding needs.
///
/// More registers than the constructors take can be added with [`Registers::with`]; a few functions
/// (those that realign their stack, or keep its end in another register) cannot be unwound without
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    pub(crate) arch: Arch,
    /// Address of the next instruction.
    pub(crate) ip: u64,
    values: [u64; 32],
    /// Which of `values` are known, one bit each.
    known: u32,
}

impl Registers {
    /// Registers of an x86_64 thread: instruction, stack and base pointer.
    pub fn x86_64(ip: u64, sp: u64, bp: u64) -> Self {
        Registers::new(Arch::X86_64, ip).with(7, sp).with(6, bp)
    }

    /// Registers of an aarch64 thread: instruction and stack pointer, frame pointer (`x29`), link
    /// register (`x30`).
    pub fn aarch64(pc: u64, sp: u64, fp: u64, lr: u64) -> Self {
        Registers::new(Arch::Aarch64, pc).with(31, sp).with(29, fp).with(30, lr)
    }

    /// Registers of a riscv64 thread: instruction and stack pointer, frame pointer (`s0`), return
    /// address (`ra`).
    pub fn riscv64(pc: u64, sp: u64, fp: u64, ra: u64) -> Self {
        Registers::new(Arch::Riscv64, pc).with(2, sp).with(8, fp).with(1, ra)
    }

    /// Without any yet: for others to add, the stack pointer among them.
    pub fn none(arch: Arch) -> Self {
        Registers::new(arch, 0)
    }

    /// With another address of the next instruction.
    #[must_use]
    pub fn at(self, ip: u64) -> Self {
        Registers { ip, ..self }
    }

    fn new(arch: Arch, ip: u64) -> Self {
        Registers { arch, ip, values: [0; 32], known: 0 }
    }

    /// With another register, by its DWARF number: on x86_64 `rax rdx rcx rbx rsi rdi rbp rsp
    /// r8…r15` are 0 to 15, on aarch64 `x0…x30` are 0 to 30, on riscv64
    /// `x1…x31` are 1 to 31.
    #[must_use]
    pub fn with(mut self, number: u16, value: u64) -> Self {
        self.set(number, Some(value));
        self
    }

    /// A register's value, if it is known.
    pub(crate) fn get(&self, number: u16) -> Option<u64> {
        if self.arch == Arch::X86_64 && number == 16 {
            return Some(self.ip);
        }
        let known = number < 32 && self.known & (1 << number) != 0;
        known.then(|| self.values[usize::from(number)])
    }

    /// Sets a register, or makes it unknown.
    pub(crate) fn set(&mut self, number: u16, value: Option<u64>) {
        if number >= 32 {
            return;
        }
        self.known &= !(1 << number);
        if let Some(value) = value {
            self.values[usize::from(number)] = value;
            self.known |= 1 << number;
        }
    }

    /// Keeps only callee-saved registers.
    pub(crate) fn forget_scratch(&mut self) {
        self.known &= match self.arch {
            Arch::X86_64 => 1 << 3 | 1 << 6 | 1 << 7 | 0xf << 12,
            Arch::Aarch64 => 0x7ff << 19 | 1 << 30 | 1 << 31,
            Arch::Riscv64 => 1 << 1 | 1 << 2 | 3 << 8 | 0x3ff << 18,
        };
    }

    /// The stack pointer.
    pub fn sp(&self) -> u64 {
        self.values[usize::from(self.sp_number())]
    }

    /// The frame pointer, if it is known.
    pub(crate) fn fp(&self) -> Option<u64> {
        self.get(self.fp_number())
    }

    pub(crate) fn sp_number(&self) -> u16 {
        match self.arch {
            Arch::X86_64 => 7,
            Arch::Aarch64 => 31,
            Arch::Riscv64 => 2,
        }
    }

    pub(crate) fn fp_number(&self) -> u16 {
        match self.arch {
            Arch::X86_64 => 6,
            Arch::Aarch64 => 29,
            Arch::Riscv64 => 8,
        }
    }

    /// Where a frame pointer's pair is, from it: the caller's frame pointer, and above it the
    /// return address. On riscv64 it points above them.
    pub(crate) fn pair(&self, fp: u64) -> Option<u64> {
        match self.arch {
            Arch::X86_64 | Arch::Aarch64 => Some(fp),
            Arch::Riscv64 => fp.checked_sub(16),
        }
    }

    /// A return address without the signature of pointer authentication in its upper bits.
    pub(crate) fn plain(&self, address: u64) -> u64 {
        match self.arch {
            Arch::X86_64 | Arch::Riscv64 => address,
            Arch::Aarch64 => address & 0x0000_ffff_ffff_ffff,
        }
    }
}
