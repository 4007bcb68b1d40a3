//! The architectures that dwell runs on.

/// An instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    /// Also called amd64.
    X86_64,
    /// Also called arm64; little-endian.
    Aarch64,
    /// With 64 bits; little-endian.
    Riscv64,
}

impl Arch {
    /// That of this machine.
    #[cfg(target_arch = "x86_64")]
    pub const HERE: Self = Self::X86_64;
    /// That of this machine.
    #[cfg(target_arch = "aarch64")]
    pub const HERE: Self = Self::Aarch64;
    /// That of this machine.
    #[cfg(target_arch = "riscv64")]
    pub const HERE: Self = Self::Riscv64;

    /// Whether a call leaves its return address in a register, and not on the stack.
    pub fn links(self) -> bool {
        self != Arch::X86_64
    }
}
