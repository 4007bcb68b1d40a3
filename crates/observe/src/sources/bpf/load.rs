//! Loading the BPF object: the loader, sizes and constants set before, typed access to maps.
//!
//! `attach.rs` attaches the programs.

use super::buffers::segments_per_cpu;
use crate::access;
use crate::sources::arguments;
use aya::maps::{Map, MapData, RingBuf};
use aya::programs::ProgramError;
use aya::{Btf, Ebpf, EbpfLoader, VerifierLogLevel};
use model::Pid;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{fs, io};
use sys::shared::SharedWords;

/// The kernel half, for this architecture.
static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/dwell.bpf.o"));

/// The limit of threads traced at once, plus one; further ones are counted. 300 bytes each.
pub(super) const THREADS_MAX: u32 = 16 * 1024;

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

/// Loads the object, for a tree with root `root` (0: none is started) and for `wanted` existing
/// processes.
pub(super) fn load(btf: &Btf, root: Pid, cpus: &[u32], wanted: u32) -> Result<Ebpf, BpfRefusal> {
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

/// The number of CPUs with a buffer. Events on a CPU that comes online later count as lost.
pub(super) fn buffered(cpus: &[u32]) -> u32 {
    cpus.iter().max().map_or(1, |last| last + 1)
}

pub(super) fn ring(ebpf: &mut Ebpf, name: &'static str) -> Result<RingBuf<MapData>, BpfRefusal> {
    let map = ebpf.take_map(name).ok_or(BpfRefusal::Missing(name))?;
    Ok(RingBuf::try_from(map).map_err(|error| Box::new(error.into()))?)
}

pub(crate) fn map(ebpf: &Ebpf, name: &'static str, words: usize) -> Result<SharedWords, BpfRefusal> {
    let Some(Map::Array(map)) = ebpf.map(name) else { return Err(BpfRefusal::Missing(name)) };
    SharedWords::map(map.fd(), words).map_err(|error| BpfRefusal::Map { name, error })
}

/// The loader parses the kernel's types when constructed, as a default: 22 ms of CPU time, thrown
/// away at once. It goes without where it cannot open them, so it is constructed while no file can
/// be opened. This affects the whole process, so it is done only where there is no other thread.
pub(crate) fn loader() -> EbpfLoader<'static> {
    let alone = fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
    let files = getrlimit(Resource::Nofile);
    let none = Rlimit { current: Some(0), maximum: files.maximum };
    if !alone || setrlimit(Resource::Nofile, none).is_err() {
        return EbpfLoader::new();
    }
    let loader = EbpfLoader::new();
    setrlimit(Resource::Nofile, files).expect("the old limit can be restored");
    loader
}
