//! Programs of the kernel half at instructions of files: perf events that are opened here, since
//! the loader cannot set a semaphore.

use super::refusal;
use aya::Ebpf;
use aya::programs::{ProgramError, ProgramFd, UProbe};
use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use sys::perf_event;

/// The kernel's number for events of uprobes.
const KIND: &str = "/sys/bus/event_source/devices/uprobe/type";
/// The kernel's own error for instructions that it can neither emulate nor step.
const ENOTSUPP: i32 = 524;

/// Runs a program whenever a thread of any process comes to this offset of a file, until the event
/// is closed. The kernel holds the counter at `semaphore` above 0 meanwhile.
pub(super) fn attach(
    ebpf: &mut Ebpf,
    file: &File,
    program: &str,
    offset: u64,
    semaphore: Option<u64>,
) -> Result<OwnedFd, String> {
    let kind = fs::read_to_string(KIND).ok().and_then(|kind| kind.trim().parse().ok());
    let kind = kind.ok_or("this kernel has no uprobes (CONFIG_UPROBE_EVENTS)")?;
    // The path of the descriptor: at that of the file another one may stand by now.
    let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let path = path.map_err(|error| error.to_string())?;
    let program = loaded(ebpf, program)?;
    let semaphore = semaphore.map(u32::try_from).transpose();
    let semaphore = semaphore.map_err(|_| "its semaphore is too far into the file")?;
    perf_event::at_instruction(kind, &path, offset, semaphore)
        .and_then(|event| perf_event::run_at_overflow(event.as_fd(), program.as_fd()).map(|()| event))
        .map_err(|error| match error.raw_os_error() {
            Some(ENOTSUPP) => {
                format!("this kernel cannot probe the instruction at {offset:#x} of the file")
            }
            _ => format!("a probe at {offset:#x} of the file: {error}"),
        })
}

fn loaded<'a>(ebpf: &'a mut Ebpf, name: &str) -> Result<&'a ProgramFd, String> {
    let why = |error: ProgramError| refusal::root_cause(&error);
    let program: &mut UProbe =
        ebpf.program_mut(name).ok_or("the BPF object has it not")?.try_into().map_err(why)?;
    if program.fd().is_err() {
        program.load().map_err(why)?;
    }
    program.fd().map_err(why)
}
