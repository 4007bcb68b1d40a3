//! Loading the BPF object: the loader, sizes and constants set before it, maps as this side reads
//! them.
//!
//! Which programs are attached is left to `attach.rs`.

use super::buffers::segments_per_cpu;
use crate::access;
use crate::sources::arguments;
use aya::maps::{Map, MapData, RingBuf};
use aya::programs::ProgramError;
use aya::{Btf, Ebpf, EbpfLoader, VerifierLogLevel};
use model::Pid;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{fs, io};
use sys::shared::Words;

/// The kernel half, for this architecture.
static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/dwell.bpf.o"));

/// Threads that are followed at once, and one more; what is left out is counted. 300 bytes each.
pub(super) const THREADS_MAX: u32 = 16 * 1024;

/// Why the source cannot be used here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// The kernel does not describe its types.
    #[error("cannot read the kernel's types from /sys/kernel/btf/vmlinux: {0}")]
    Btf(#[from] aya::BtfError),
    /// The object or a map was refused.
    #[error("cannot load the BPF object: {}", root_cause(.0))]
    Load(#[from] Box<aya::EbpfError>),
    /// A buffer cannot be shared with the kernel.
    #[error("cannot map the BPF map {name}: {error}")]
    Map {
        /// Which.
        name: &'static str,
        /// What the kernel said.
        error: io::Error,
    },
    /// A program was refused.
    #[error("cannot {doing} BPF program {program}: {}", root_cause(.error))]
    Program {
        /// `load` or `attach`.
        doing: &'static str,
        /// Which.
        program: String,
        /// What the kernel said.
        error: Box<ProgramError>,
    },
    /// The tasks of this host cannot be listed.
    #[error("cannot look for living threads: {0}")]
    Look(#[from] io::Error),
    /// The object lacks something this file expects.
    #[error("the BPF object has no {0}")]
    Missing(&'static str),
}

/// What the innermost error says: the outer ones only repeat where it happened.
pub(super) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

/// Loads the object, for a tree whose root is `root` (0: none is started) and for `wanted`
/// processes that live already.
pub(super) fn load(btf: &Btf, root: Pid, cpus: &[u32], wanted: u32) -> Result<Ebpf, Refused> {
    let kinds = arguments::kinds();
    let buffered = buffered(cpus);
    let segments = segments_per_cpu(buffered);
    let ebpf = loader()
        .btf(Some(btf))
        .allow_unsupported_maps() // task storage, which only the kernel half touches
        .verifier_log_level(VerifierLogLevel::DISABLE)
        .override_global("root_pid", &root, true)
        .override_global("own_pid_ns", &access::pid_namespace(), true)
        .override_global("nr_execve", &arguments::execve(), true)
        .override_global("nr_io_uring_enter", &arguments::io_uring_enter(), true)
        .override_global("arg_kind", kinds.as_slice(), true)
        .map_max_entries("scratches", 2 * (cpus.iter().max().unwrap_or(&0) + 1))
        .override_global("segments_per_cpu", &segments, true)
        .map_max_entries("wanted", wanted)
        .map_max_entries("threads", THREADS_MAX)
        .map_max_entries("free_entries", THREADS_MAX)
        .map_max_entries("buffers", buffered)
        .map_max_entries("segments", buffered * segments)
        .load(OBJECT)
        .map_err(Box::new)?;
    Ok(ebpf)
}

/// How many CPUs have a buffer. What happens on a CPU that comes later counts as lost.
pub(super) fn buffered(cpus: &[u32]) -> u32 {
    cpus.iter().max().map_or(1, |last| last + 1)
}

pub(super) fn ring(ebpf: &mut Ebpf, name: &'static str) -> Result<RingBuf<MapData>, Refused> {
    let map = ebpf.take_map(name).ok_or(Refused::Missing(name))?;
    Ok(RingBuf::try_from(map).map_err(|error| Box::new(error.into()))?)
}

pub(crate) fn map(ebpf: &Ebpf, name: &'static str, words: usize) -> Result<Words, Refused> {
    let Some(Map::Array(map)) = ebpf.map(name) else { return Err(Refused::Missing(name)) };
    Words::map(map.fd(), words).map_err(|error| Refused::Map { name, error })
}

/// The loader parses the kernel's types as soon as it is made, in case nobody gives it any: 22 ms
/// of CPU time for something that is thrown away at once. It does without where it cannot open
/// them, so it is made while nothing can be opened. That is so for the whole process, hence only
/// where there is no other thread to be harmed.
pub(crate) fn loader() -> EbpfLoader<'static> {
    let alone = fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
    let files = getrlimit(Resource::Nofile);
    let none = Rlimit { current: Some(0), maximum: files.maximum };
    if !alone || setrlimit(Resource::Nofile, none).is_err() {
        return EbpfLoader::new();
    }
    let loader = EbpfLoader::new();
    setrlimit(Resource::Nofile, files).expect("a limit may go back to what it was");
    loader
}
