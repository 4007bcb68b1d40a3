//! Programs of the kernel half at instructions of files: perf events that are opened here, since
//! the loader cannot set a semaphore.

use super::refusal;
use aya::Ebpf;
use aya::programs::{ProgramError, ProgramFd, UProbe};
use model::Pid;
use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::thread;
use sys::perf_event;

/// The kernel's number for events of uprobes.
const KIND: &str = "/sys/bus/event_source/devices/uprobe/type";
/// The kernel's own error for instructions that it can neither emulate nor step.
const ENOTSUPP: i32 = 524;

/// A place in a file, and where it counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) offset: u64,
    /// The offset of a counter that the kernel holds above 0 meanwhile.
    pub(super) semaphore: Option<u64>,
    /// In this process only; none: in all that map the file.
    pub(super) process: Option<Pid>,
}

impl Place {
    /// In all processes that map the file.
    pub(super) fn everywhere(offset: u64) -> Self {
        Self { offset, semaphore: None, process: None }
    }
}

/// Runs a program whenever a thread comes to a place, until the event is closed.
pub(super) fn attach(
    ebpf: &mut Ebpf,
    file: &File,
    program: &str,
    Place { offset, semaphore, process }: Place,
) -> Result<OwnedFd, String> {
    let kind = fs::read_to_string(KIND).ok().and_then(|kind| kind.trim().parse().ok());
    let kind = kind.ok_or("this kernel has no uprobes (CONFIG_UPROBE_EVENTS)")?;
    // The path of the descriptor: at that of the file another one may stand by now.
    let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let path = path.map_err(|error| error.to_string())?;
    let program = loaded(ebpf, program)?;
    let semaphore = semaphore.map(u32::try_from).transpose();
    let semaphore = semaphore.map_err(|_| "its semaphore is too far into the file")?;
    perf_event::at_instruction(kind, &path, offset, semaphore, process)
        .and_then(|event| perf_event::run_at_overflow(event.as_fd(), program.as_fd()).map(|()| event))
        .map_err(|error| match error.raw_os_error() {
            Some(ENOTSUPP) => {
                format!("this kernel cannot probe the instruction at {offset:#x} of the file")
            }
            _ => format!("a probe at {offset:#x} of the file: {error}"),
        })
}

/// Closes events in a thread: the kernel takes up to a tenth of a second for each, and records are
/// to be read meanwhile.
pub(super) fn close(events: Vec<OwnedFd>) {
    let closes = thread::Builder::new().name("dwell-close".to_owned());
    // Without a thread they are closed here.
    let _ = closes.spawn(move || drop(events));
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
