//! The connections that are still open when the recording ends, from the kernel half (`network.h`).

use super::wire::{ASKED, Tracked};
use aya::Ebpf;
use aya::maps::{Array, HashMap};
use aya::programs::RawTracePoint;
use std::os::fd::AsFd;
use sys::bpf::run_once;

/// Words of the state of a connection.
const WORDS: usize = size_of::<Tracked>() / 8;

/// Has the kernel half report them through the buffers. Returns their number; none when the program
/// cannot be run.
pub(super) fn tell_open(ebpf: &mut Ebpf) -> Option<usize> {
    let map = HashMap::<_, u64, [u64; WORDS]>::try_from(ebpf.map("connections")?).ok()?;
    let sockets: Vec<u64> = map.keys().filter_map(Result::ok).collect();
    if sockets.is_empty() {
        return Some(0);
    }
    let program: &mut RawTracePoint = ebpf.program_mut("tell_open")?.try_into().ok()?;
    program.load().ok()?;
    let program = program.fd().ok()?.try_clone().ok()?;
    let mut table = Array::<_, u64>::try_from(ebpf.map_mut("asked_sockets")?).ok()?;
    for some in sockets.chunks(ASKED) {
        // An address of 0 ends the table.
        for (index, socket) in some.iter().chain([&0]).take(ASKED).enumerate() {
            table.set(index as u32, socket, 0).ok()?;
        }
        run_once(program.as_fd()).ok()?;
    }
    Some(sockets.len())
}

/// Connections for which there was no room.
pub(super) fn lost(ebpf: &Ebpf) -> u64 {
    let map = ebpf.map("lost_connections").and_then(|map| Array::<_, u64>::try_from(map).ok());
    map.and_then(|map| map.get(&0, 0).ok()).unwrap_or(0)
}
