//! The architectures that dwell runs on.

/// An instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    /// Also called amd64.
    X86_64,
    /// Also called arm64; little-endian.
    Aarch64,
}
