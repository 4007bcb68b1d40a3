//! Why BPF cannot be used here: what loads, attaches and maps says it in these words.

use aya::programs::ProgramError;
use std::io;

/// Why the source cannot be used here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BpfRefusal {
    /// The kernel does not describe its types.
    #[error("cannot read the kernel's types from /sys/kernel/btf/vmlinux: {0}")]
    Btf(#[from] aya::BtfError),
    /// The object or a map was refused.
    #[error("cannot load the BPF object: {}", root_cause(.0))]
    Load(#[from] Box<aya::EbpfError>),
    /// A buffer cannot be shared with the kernel.
    #[error("cannot map the BPF map {name}: {error}")]
    Map {
        /// Its name.
        name: &'static str,
        /// The kernel's error.
        error: io::Error,
    },
    /// A program was refused.
    #[error("cannot {doing} BPF program {program}: {}", root_cause(.error))]
    Program {
        /// `load` or `attach`.
        doing: &'static str,
        /// Its name.
        program: String,
        /// The kernel's error.
        error: Box<ProgramError>,
    },
    /// The tasks of this host cannot be listed.
    #[error("cannot find the existing threads: {0}")]
    Look(#[from] io::Error),
    /// The object lacks something this file expects.
    #[error("the BPF object has no {0}")]
    Missing(&'static str),
}

/// The text of the innermost error: the outer ones only repeat the context.
pub(super) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
