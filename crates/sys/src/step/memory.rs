//! The memory of a stopped thread, and other state that stepping reads.

use super::machine;
use super::ptrace::{self, Tid, registers};
use std::collections::BTreeMap;
use std::fs;
use std::io;

/// 16 bytes of memory; the second half may be missing at the end of a mapping.
pub(super) fn read(tid: Tid, address: u64) -> io::Result<[u8; machine::LOOKED_AT]> {
    let mut bytes = [0; machine::LOOKED_AT];
    bytes[..8].copy_from_slice(&ptrace::peek(tid, address)?);
    if let Ok(more) = ptrace::peek(tid, address.wrapping_add(8)) {
        bytes[8..].copy_from_slice(&more);
    }
    Ok(bytes)
}

/// The program's code, without our breakpoints.
pub(super) fn read_code(
    tid: Tid,
    address: u64,
    breakpoints: &BTreeMap<u64, Vec<u8>>,
) -> [u8; machine::LOOKED_AT] {
    let mut bytes = read(tid, address).unwrap_or_default();
    for (at, before) in breakpoints.range(address..address.saturating_add(machine::LOOKED_AT as u64)) {
        let at = (at - address) as usize;
        for (byte, before) in bytes[at..].iter_mut().zip(before) {
            *byte = *before;
        }
    }
    bytes
}

/// Writes `bytes` (at most eight) at an address and returns the old ones.
pub(super) fn exchange(tid: Tid, address: u64, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut word = ptrace::peek(tid, address)?;
    let before = word[..bytes.len()].to_vec();
    word[..bytes.len()].copy_from_slice(bytes);
    ptrace::poke(tid, address, word)?;
    Ok(before)
}

/// The return address of a call that was just made.
#[cfg(target_arch = "x86_64")]
pub(super) fn return_address(tid: Tid) -> io::Result<u64> {
    ptrace::peek(tid, registers::sp(tid)?).map(u64::from_ne_bytes)
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn return_address(tid: Tid) -> io::Result<u64> {
    registers::link(tid)
}

/// Stepping sets the trap flag, and `pushf` saved it with the others: restored later, it would trap
/// a program that is no longer stepped.
#[cfg(target_arch = "x86_64")]
pub(super) fn hide_trap_flag(tid: Tid) -> io::Result<()> {
    let sp = registers::sp(tid)?;
    let mut flags = ptrace::peek(tid, sp)?;
    flags[1] &= !1;
    ptrace::poke(tid, sp, flags)
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn hide_trap_flag(_: Tid) -> io::Result<()> {
    Ok(())
}

/// Whether the program got rights by its execution that its caller does not have: those of the
/// file's owner or group (set-user-ID), or capabilities. Then the kernel tells the C library so, by
/// `AT_SECURE` of getauxval(3). What cannot be asked is taken to have.
pub(super) fn has_rights_of_its_own(pid: Tid) -> bool {
    const AT_SECURE: usize = 23;
    const WORD: usize = size_of::<usize>();
    let Ok(auxv) = fs::read(format!("/proc/{pid}/auxv")) else { return true };
    let words: Vec<usize> =
        auxv.as_chunks::<WORD>().0.iter().map(|word| usize::from_ne_bytes(*word)).collect();
    words.as_chunks::<2>().0.iter().any(|[kind, value]| *kind == AT_SECURE && *value != 0)
}

/// Whether the program has a handler for a signal now.
pub(super) fn is_handled(pid: Tid, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| ptrace::in_mask(mask, signal))
}
