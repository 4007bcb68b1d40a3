//! Loading the BPF object: the loader, sizes and constants set before.
//!
//! `attach.rs` attaches the programs, `maps.rs` gives access to maps.

use super::attach::MAKER;
use super::buffers::BufferSizes;
use super::refusal::BpfRefusal;
use super::types::Types;
use crate::access;
use crate::sources::arguments;
use aya::{Ebpf, EbpfLoader, VerifierLogLevel};
use model::Pid;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::{self, DirEntry};
use sys::at_once::THREAD;

/// The kernel half, for this architecture.
pub(super) static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/dwell.bpf.o"));

/// An object for this architecture: the sources know some only, and for others it is empty.
///
/// # Errors
/// It is empty.
pub(crate) fn made_for(object: &[u8]) -> Result<&[u8], BpfRefusal> {
    if object.is_empty() { Err(BpfRefusal::Architecture(std::env::consts::ARCH)) } else { Ok(object) }
}

/// What the verifier is to say of a refusal: why, and not how it got there. A program is loaded
/// without, and again for this where it was refused.
pub(crate) const WHY: VerifierLogLevel = VerifierLogLevel::STATS;

/// The limit of threads traced at once, plus one; further ones are counted. 512 bytes each.
pub(super) const THREADS_MAX: u32 = 16 * 1024;

/// Loads the object, for a tree with root `root` (0: none is started) and for `wanted` existing
/// processes. `requests_by_kind`: they are told apart by what they ask for.
pub(super) fn load(
    types: &Types,
    root: Pid,
    cpus: &[u32],
    requests_by_kind: bool,
    wanted: u32,
) -> Result<Ebpf, BpfRefusal> {
    let [read, recvfrom, readv, recvmsg] = arguments::receives();
    let (kinds, results) = (arguments::kinds(), arguments::result_kinds());
    let sizes = BufferSizes::here(cpus);
    let ebpf = loader()
        .btf(Some(types.layouts()))
        .allow_unsupported_maps() // task storage, which only the kernel half touches
        .verifier_log_level(WHY)
        .override_global("root_pid", &root, true)
        .override_global("own_pid_ns", &access::pid_namespace(), true)
        .override_global("nr_execve", &arguments::execve(), true)
        .override_global("nr_rt_sigreturn", &arguments::rt_sigreturn(), true)
        .override_global("nr_io_uring_enter", &arguments::io_uring_enter(), true)
        .override_global("tells_kinds", &u32::from(requests_by_kind), true)
        .override_global("nr_read", &read, true)
        .override_global("nr_recvfrom", &recvfrom, true)
        .override_global("nr_readv", &readv, true)
        .override_global("nr_recvmsg", &recvmsg, true)
        .override_global("arg_kind", kinds.as_slice(), true)
        .override_global("result_kind", results.as_slice(), true)
        .override_global("told_by_start", &u32::from(types.has_tracepoint(MAKER)), true)
        .map_max_entries("scratches", 2 * (sizes.at_start + 1))
        .override_global("scratch_cpus", &sizes.at_start, true)
        .override_global("cpus_at_start", &sizes.at_start, true)
        .override_global("segments_per_cpu", &sizes.segments_each, true)
        .override_global("segments_of_others", &sizes.segments_of_others, true)
        .map_max_entries("wanted", wanted)
        .map_max_entries("threads", THREADS_MAX)
        .map_max_entries("free_entries", THREADS_MAX)
        .map_max_entries("buffers", sizes.cpus)
        .map_max_entries("segments", sizes.segments())
        .load(OBJECT)
        .map_err(Box::new)?;
    Ok(ebpf)
}

/// The loader parses the kernel's types when constructed, as a default: 22 ms of CPU time, thrown
/// away at once. It goes without where it cannot open them, so it is constructed while no file can
/// be opened. This affects the whole process, so it is done only where no other thread opens files:
/// that which waits for signals does not.
pub(crate) fn loader() -> EbpfLoader<'static> {
    let opens = |thread: &DirEntry| {
        fs::read_to_string(thread.path().join("comm")).map_or(true, |name| name.trim_end() != THREAD)
    };
    let alone = fs::read_dir("/proc/self/task")
        .is_ok_and(|threads| threads.flatten().filter(|thread| opens(thread)).count() == 1);
    let files = getrlimit(Resource::Nofile);
    let none = Rlimit { current: Some(0), maximum: files.maximum };
    if !alone || setrlimit(Resource::Nofile, none).is_err() {
        return EbpfLoader::new();
    }
    let loader = EbpfLoader::new();
    setrlimit(Resource::Nofile, files).expect("the old limit can be restored");
    loader
}
