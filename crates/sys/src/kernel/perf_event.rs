//! Perf events: opening them, and the ring buffers through which the kernel delivers their records.
//!
//! `observe::sources` decodes the records; this module only moves their bytes.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// The kernel's own constants and `perf_event_attr`.
pub use perf_event_open_sys::bindings;

use bindings::{perf_event_attr, perf_event_mmap_page};

/// Length of the header of every record: type (4), flags (2), size of the whole (2).
pub const RECORD_HEADER_LEN: usize = 8;

/// The attributes of one of the kernel's software events (`PERF_COUNT_SW_…`), with all else zero.
pub fn software(config: bindings::perf_sw_ids) -> perf_event_attr {
    let mut attr = perf_event_attr::default();
    attr.type_ = bindings::PERF_TYPE_SOFTWARE;
    attr.config = config.into();
    attr
}

/// In place of a thread: all that run on the CPU.
pub const ANY_THREAD: u32 = u32::MAX;
/// In place of a CPU: wherever the thread runs.
const ANY_CPU: u32 = u32::MAX;

/// `perf_event_open` for one thread (or [`ANY_THREAD`]) on one CPU. `attr.size` is filled in here.
///
/// # Errors
/// The system's error: `EACCES` or `EPERM` where `perf_event_paranoid` or a seccomp filter forbids
/// it.
pub fn open(attr: &perf_event_attr, tid: u32, cpu: u32) -> io::Result<OwnedFd> {
    let mut attr = *attr;
    attr.size = size_of::<perf_event_attr>() as u32;
    let no_group = -1;
    // SAFETY: `attr` is a whole, initialised perf_event_attr of the stated size that outlives the
    // call; the call has no effect on this process's memory but to write `attr.size` on E2BIG.
    let fd = unsafe {
        perf_event_open_sys::perf_event_open(
            &mut attr,
            tid as i32,
            cpu as i32,
            no_group,
            bindings::PERF_FLAG_FD_CLOEXEC.into(),
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so `fd` is a new descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// An event at each execution of an instruction, that at `offset` of the file: in one process, or
/// in whichever. `semaphore` is the offset of a 16-bit counter, which the kernel holds above 0
/// meanwhile. `kind` is the number of the kernel's `uprobe` events.
///
/// # Errors
/// As [`open`]; `EINVAL` where there is no instruction that can be probed.
pub fn at_instruction(
    kind: u32,
    file: &CStr,
    offset: u64,
    semaphore: Option<u32>,
    process: Option<u32>,
) -> io::Result<OwnedFd> {
    let mut attr = perf_event_attr::default();
    attr.type_ = kind;
    attr.config = u64::from(semaphore.unwrap_or(0)) << 32;
    attr.__bindgen_anon_3.uprobe_path = file.as_ptr() as u64;
    attr.__bindgen_anon_4.probe_offset = offset;
    match process {
        Some(process) => open(&attr, process, ANY_CPU),
        // The kernel wants a CPU, and takes no notice of it.
        None => open(&attr, ANY_THREAD, 0),
    }
}

/// Redirects the records of `from` to the ring of `into`: both must have the same CPU and clock.
///
/// # Errors
/// The error of `PERF_EVENT_IOC_SET_OUTPUT`.
pub fn redirect(from: BorrowedFd<'_>, into: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: both descriptors are open for the length of the call, which takes no pointers.
    let result = unsafe { perf_event_open_sys::ioctls::SET_OUTPUT(from.as_raw_fd(), into.as_raw_fd()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Runs a loaded BPF program at each overflow of the event, or wherever it is.
///
/// # Errors
/// The error of `PERF_EVENT_IOC_SET_BPF`.
pub fn run_at_overflow(event: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    let program = program.as_raw_fd().cast_unsigned();
    // SAFETY: both descriptors are open for the length of the call, which takes no pointers.
    let result = unsafe { perf_event_open_sys::ioctls::SET_BPF(event.as_raw_fd(), program) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Changes the sampling period of an event that has a fixed one.
///
/// # Errors
/// The error of `PERF_EVENT_IOC_PERIOD`.
pub fn set_period(event: BorrowedFd<'_>, period: u64) -> io::Result<()> {
    // SAFETY: the kernel reads one word, which outlives the call.
    let result = unsafe { libc::ioctl(event.as_raw_fd(), bindings::PERIOD as _, &raw const period) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The `read_format` that [`times`] needs.
pub const WITH_TIMES: u64 =
    (bindings::PERF_FORMAT_TOTAL_TIME_ENABLED | bindings::PERF_FORMAT_TOTAL_TIME_RUNNING) as u64;

/// For how long an event was to count, and for how long it did, in nanoseconds. It was opened with
/// [`WITH_TIMES`].
///
/// # Errors
/// The error of read(2).
pub fn times(event: BorrowedFd<'_>) -> io::Result<(u64, u64)> {
    let mut words = [[0_u8; 8]; 3];
    if rustix::io::read(event, words.as_flattened_mut())? < size_of_val(&words) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok((u64::from_ne_bytes(words[1]), u64::from_ne_bytes(words[2])))
}

/// The ring buffer of one event, shared with the kernel; this side reads.
#[derive(Debug)]
pub struct Ring {
    base: *mut u8,
    page_size: usize,
    data_len: usize,
    /// A record that wraps around the end of the ring is put together here.
    wrapped: Vec<u8>,
    event: OwnedFd,
}

// SAFETY: the mapping belongs to this value alone, and only `&mut self` reads through it.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps a ring of `data_pages` (a power of two) pages for the event, which it keeps open.
    ///
    /// # Errors
    /// The error of `mmap`: `EPERM` beyond `perf_event_mlock_kb` and `RLIMIT_MEMLOCK`. The event is
    /// returned for another try.
    pub fn map(event: OwnedFd, data_pages: usize) -> Result<Self, (OwnedFd, io::Error)> {
        let page_size = page_size();
        let data_len = data_pages * page_size;
        // SAFETY: a fresh shared mapping of an open descriptor, placed by the kernel, touches
        // nothing of ours.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page_size + data_len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err((event, io::Error::last_os_error()));
        }
        Ok(Self { base: base.cast(), page_size, data_len, wrapped: Vec::new(), event })
    }

    /// Passes on each record that was complete when the call began, header included, oldest first,
    /// and frees its space.
    pub fn read(&mut self, mut each: impl FnMut(&[u8])) {
        let page: *mut perf_event_mmap_page = self.base.cast();
        // SAFETY: the first page of the mapping is a perf_event_mmap_page for as long as the
        // mapping lives; the kernel writes `data_head` and only we write `data_tail`, both aligned
        // 64-bit words, here atomic.
        let (head, tail) = unsafe {
            (AtomicU64::from_ptr(&raw mut (*page).data_head), AtomicU64::from_ptr(&raw mut (*page).data_tail))
        };
        // Acquire: the records up to `head` are visible once `head` is. Release: we are done with
        // what lies before `tail` when the kernel sees it.
        let end = head.load(Ordering::Acquire);
        let mut at = tail.load(Ordering::Relaxed);
        while end.wrapping_sub(at) >= RECORD_HEADER_LEN as u64 {
            let offset = (at % self.data_len as u64) as usize;
            // SAFETY: the data begins one page into the mapping and is `data_len` long; what lies
            // between `at` and `end` is the kernel's finished output, which it does not touch until
            // `tail` moves.
            let data = unsafe { std::slice::from_raw_parts(self.base.add(self.page_size), self.data_len) };
            // Records are multiples of eight bytes, so that a header never wraps.
            let size = usize::from(u16::from_ne_bytes([data[offset + 6], data[offset + 7]]));
            if size < RECORD_HEADER_LEN || size as u64 > end - at {
                at = end;
                break;
            }
            if offset + size <= self.data_len {
                each(&data[offset..offset + size]);
            } else {
                let first = self.data_len - offset;
                self.wrapped.clear();
                self.wrapped.extend_from_slice(&data[offset..]);
                self.wrapped.extend_from_slice(&data[..size - first]);
                each(&self.wrapped);
            }
            at += size as u64;
        }
        tail.store(at, Ordering::Release);
    }
}

impl AsFd for Ring {
    /// The event whose ring it is.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`; no reference into it outlives `self`. A
        // failure would leave it mapped, which harms nothing.
        unsafe { libc::munmap(self.base.cast(), self.page_size + self.data_len) };
    }
}

/// The value of `perf_event_paranoid`: -1 to 4, lower permits more. `None` where there are no perf
/// events.
pub fn paranoid() -> Option<i32> {
    let file = File::open("/proc/sys/kernel/perf_event_paranoid").ok()?;
    io::read_to_string(file).ok()?.trim().parse().ok()
}

fn page_size() -> usize {
    // SAFETY: no pointers; this name is always known.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bindings::*;

    #[test]
    fn records_of_our_own_renaming_come_through_a_small_ring_many_times_over() {
        let mut attr = software(PERF_COUNT_SW_DUMMY);
        attr.set_exclude_kernel(1);
        attr.set_comm(1);
        // One event per CPU, since this thread may run on any. SAFETY: neither call has pointers;
        // the name is always known.
        let (cpus, tid) =
            unsafe { (libc::sysconf(libc::_SC_NPROCESSORS_ONLN) as u32, libc::gettid() as u32) };
        let mut rings: Vec<Ring> =
            (0..cpus).map(|cpu| Ring::map(open(&attr, tid, cpu).unwrap(), 1).unwrap()).collect();
        let mut seen = 0;
        for round in 0..1000 {
            std::fs::write("/proc/thread-self/comm", format!("name {round}")).unwrap();
            for ring in &mut rings {
                ring.read(|record| {
                    assert_eq!(u32::from_ne_bytes(record[..4].try_into().unwrap()), PERF_RECORD_COMM);
                    assert!(record[16..].starts_with(format!("name {round}\0").as_bytes()));
                    seen += 1;
                });
            }
        }
        // 32 bytes each: seven times around a 4 KiB ring.
        assert_eq!(seen, 1000);
    }

    #[test]
    fn a_thread_that_does_not_exist_is_an_error() {
        let attr = software(PERF_COUNT_SW_DUMMY);
        assert_eq!(open(&attr, i32::MAX as u32, 0).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
