//! Memory of a requested page size, and the page size obtained.
//!
//! [`crate::chase`] and [`crate::loops`] use it; the caller decides how much.
#![allow(unsafe_code)]

pub mod fresh;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::slice;

/// The default size of a huge page: 2 MiB on x86_64, and on aarch64 with pages of 4 KiB.
const HUGE_BYTES: usize = 2 << 20;

/// What is filled before it is asked whether to go on.
const FILLED_AT_ONCE: usize = 16 << 20;

/// The requested kind of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    /// Base pages only.
    Small,
    /// Huge pages: from the hugetlb pool where available, else transparent, else base pages.
    Huge,
    /// Transparent huge pages only, none from the hugetlb pool: that is reserved for other
    /// programs.
    Transparent,
}

impl PageKind {
    /// The advice for madvise(2).
    fn advice(self) -> libc::c_int {
        match self {
            Self::Small => libc::MADV_NOHUGEPAGE,
            Self::Huge | Self::Transparent => libc::MADV_HUGEPAGE,
        }
    }
}

/// The pages obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Obtained {
    /// Bytes of the mapping that are present.
    pub bytes: u64,
    /// How many of them are in huge pages.
    pub huge_bytes: u64,
    /// Whether they are from the hugetlb pool (hugetlbfs).
    pub reserved: bool,
}

/// Private memory, prefaulted: no access to it faults. Filled with zeros.
#[derive(Debug)]
pub struct Pages {
    /// Where the part that is used begins, and its length.
    base: NonNull<u8>,
    bytes: usize,
    /// The whole mapping.
    mapping: (NonNull<u8>, usize),
}

// SAFETY: the mapping belongs to this value alone, and what is read and written goes through
// `&self` and `&mut self`.
unsafe impl Send for Pages {}
// SAFETY: as above; `&self` only reads.
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps and fills `bytes`, rounded up to whole base pages.
    ///
    /// # Errors
    /// The system's error: no memory.
    pub fn obtain(bytes: usize, wanted: PageKind) -> io::Result<Self> {
        Self::obtain_while(bytes, wanted, &|| true)
    }

    /// The same while `go_on` is true, which is asked for every [`FILLED_AT_ONCE`].
    ///
    /// # Errors
    /// As [`Pages::obtain`]; [`io::ErrorKind::Interrupted`] if `go_on` was false.
    pub fn obtain_while(bytes: usize, wanted: PageKind, go_on: &dyn Fn() -> bool) -> io::Result<Self> {
        let bytes = bytes.max(1).next_multiple_of(rustix::param::page_size());
        if wanted == PageKind::Huge
            && let Some(pages) = Self::reserved(bytes, go_on)
        {
            return Ok(pages);
        }
        // Transparent huge pages are aligned to their size.
        let spare = if wanted == PageKind::Small { 0 } else { HUGE_BYTES };
        let mapping = map(bytes.checked_add(spare).ok_or(io::ErrorKind::OutOfMemory)?, 0)?;
        let skip = if spare > 0 { mapping.0.as_ptr().addr().next_multiple_of(HUGE_BYTES) } else { 0 };
        let skip = skip.saturating_sub(mapping.0.as_ptr().addr());
        // SAFETY: `skip` is below `spare`, so `base` and `bytes` after it are within the mapping.
        let base = unsafe { mapping.0.add(skip) };
        let pages = Self { base, bytes, mapping };
        // A kernel without transparent huge pages refuses both: then all pages are base pages, as
        // `obtained` shows.
        let _ = advise(&pages, wanted.advice());
        if pages.fill(go_on) { Ok(pages) } else { Err(io::ErrorKind::Interrupted.into()) }
    }

    /// From the hugetlb pool; none where it is too small.
    fn reserved(bytes: usize, go_on: &dyn Fn() -> bool) -> Option<Self> {
        let rounded = bytes.next_multiple_of(HUGE_BYTES);
        // More than requested would be the figure of another size.
        if rounded != bytes {
            return None;
        }
        let mapping = map(rounded, libc::MAP_HUGETLB).ok()?;
        let pages = Self { base: mapping.0, bytes, mapping };
        // A cgroup's limit is reported only here; a plain write gets SIGBUS. Linux before 5.14
        // lacks this call.
        let filled = pages.pieces().all(|piece| go_on() && pages.populate(piece).is_ok());
        filled.then_some(pages)
    }

    /// Writes to every page; false if it was ended early.
    fn fill(&self, go_on: &dyn Fn() -> bool) -> bool {
        for piece in self.pieces() {
            if !go_on() {
                return false;
            }
            if self.populate(piece.clone()).is_ok() {
                continue;
            }
            for offset in piece.step_by(rustix::param::page_size()) {
                // SAFETY: within the mapping, which is writable; volatile, so that it is not
                // optimised away.
                unsafe { self.base.as_ptr().add(offset).write_volatile(0) };
            }
        }
        true
    }

    /// The parts that are filled in one go.
    fn pieces(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let bytes = self.bytes;
        (0..bytes).step_by(FILLED_AT_ONCE).map(move |from| from..bytes.min(from + FILLED_AT_ONCE))
    }

    /// Has the kernel fill a piece.
    fn populate(&self, piece: Range<usize>) -> io::Result<()> {
        // SAFETY: a piece is within the mapping, which belongs to this value; its content, zeros,
        // does not change.
        let done = unsafe {
            let from = self.base.as_ptr().add(piece.start);
            libc::madvise(from.cast(), piece.len(), libc::MADV_POPULATE_WRITE)
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Length in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The memory to read.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `obtain` made all of it readable, and it is not written while `self` is borrowed.
        unsafe { slice::from_raw_parts(self.base.as_ptr(), self.bytes) }
    }

    /// The memory to write.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed by this alone.
        unsafe { slice::from_raw_parts_mut(self.base.as_ptr(), self.bytes) }
    }

    /// The pages obtained, from `/proc/self/smaps`.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn obtained(&self) -> io::Result<Obtained> {
        obtained_at(self.base, self.bytes)
    }

    /// Bytes by memory node, from `/proc/self/numa_maps`.
    ///
    /// # Errors
    /// When that cannot be read: a kernel without NUMA.
    pub fn nodes(&self) -> io::Result<Vec<(u32, u64)>> {
        let maps = BufReader::new(File::open("/proc/self/numa_maps")?);
        let from = self.mapping.0.as_ptr().addr() as u64;
        nodes(maps, from, from + self.mapping.1 as u64)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`; no reference into it outlives `self`. A
        // failure would leave it mapped, which harms nothing.
        unsafe { libc::munmap(self.mapping.0.as_ptr().cast(), self.mapping.1) };
    }
}

fn map(bytes: usize, flags: i32) -> io::Result<(NonNull<u8>, usize)> {
    // SAFETY: a fresh private mapping, placed by the kernel, touches nothing of ours.
    let base = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags,
            -1,
            0,
        )
    };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok((NonNull::new(base.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?, bytes))
}

fn advise(pages: &Pages, advice: i32) -> io::Result<()> {
    // SAFETY: a range of our own mapping, and none of the advice given here drops its content.
    match unsafe { libc::madvise(pages.base.as_ptr().cast(), pages.bytes, advice) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// `from-to`, both in hexadecimal: the first field of a mapping's line.
fn range(line: &str) -> Option<(u64, u64)> {
    let (from, to) = line.split(' ').next()?.split_once('-')?;
    Some((u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?))
}

/// The pages obtained of this many bytes from there, from `/proc/self/smaps`.
fn obtained_at(base: NonNull<u8>, bytes: usize) -> io::Result<Obtained> {
    let smaps = BufReader::new(File::open("/proc/self/smaps")?);
    let from = base.as_ptr().addr() as u64;
    obtained(smaps, from, from + bytes as u64)
}

/// Sums over the mappings within the range; the kernel may have split ours or joined it with a
/// neighbour of ours.
fn obtained(smaps: impl BufRead, from: u64, to: u64) -> io::Result<Obtained> {
    let mut sum = Obtained { bytes: 0, huge_bytes: 0, reserved: false };
    let (mut inside, mut page_bytes) = (false, 0);
    for line in smaps.lines() {
        let line = line?;
        if let Some((begin, end)) = range(&line) {
            inside = begin < to && from < end;
        }
        let Some((name, value)) = line.split_once(':').filter(|_| inside) else { continue };
        let Some(Ok(kib)) = value.split_whitespace().next().map(str::parse::<u64>) else { continue };
        match name {
            "KernelPageSize" => page_bytes = kib << 10,
            "Rss" => sum.bytes += kib << 10,
            "AnonHugePages" => sum.huge_bytes += kib << 10,
            "Private_Hugetlb" => {
                sum.bytes += kib << 10;
                sum.huge_bytes += kib << 10;
                sum.reserved |= kib > 0 && page_bytes >= HUGE_BYTES as u64;
            }
            _ => {}
        }
    }
    sum.bytes = sum.bytes.min(to - from);
    sum.huge_bytes = sum.huge_bytes.min(sum.bytes);
    Ok(sum)
}

fn nodes(maps: impl BufRead, from: u64, to: u64) -> io::Result<Vec<(u32, u64)>> {
    let mut nodes = Vec::new();
    for line in maps.lines() {
        let line = line?;
        let mut words = line.split(' ');
        let at = words.next().and_then(|at| u64::from_str_radix(at, 16).ok());
        if !at.is_some_and(|at| (from..to).contains(&at)) {
            continue;
        }
        let kib = line.split("kernelpagesize_kB=").nth(1).and_then(|kib| kib.trim().parse::<u64>().ok());
        for word in words {
            let node = word.strip_prefix('N').and_then(|word| word.split_once('='));
            if let Some((Ok(node), Ok(pages))) =
                node.map(|(node, pages)| (node.parse(), pages.parse::<u64>()))
            {
                nodes.push((node, pages * kib.unwrap_or(4) * 1024));
            }
        }
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pages_are_small_and_all_there() {
        let mut pages = Pages::obtain(10 << 20, PageKind::Small).unwrap();
        let got = pages.obtained().unwrap();
        assert_eq!((got.bytes, got.huge_bytes), (10 << 20, 0));
        assert!(pages.as_slice().iter().all(|byte| *byte == 0));
        pages.as_mut_slice()[(10 << 20) - 1] = 7;
        assert_eq!(pages.as_slice().last(), Some(&7));
    }

    #[test]
    fn huge_pages_are_what_the_kernel_says_they_are() {
        let pages = Pages::obtain(16 << 20, PageKind::Huge).unwrap();
        let got = pages.obtained().unwrap();
        assert_eq!(got.bytes, 16 << 20);
        let allowed =
            std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        // Where they are allowed, some may still not be available, but on a machine with enough
        // memory not all of them.
        let expected = allowed.contains("[madvise]") || allowed.contains("[always]");
        assert!(got.huge_bytes > 0 || !expected || got.reserved, "{got:?} {allowed}");
        let got = Pages::obtain(16 << 20, PageKind::Transparent).unwrap().obtained().unwrap();
        assert!(
            !got.reserved && got.bytes == 16 << 20 && (got.huge_bytes > 0 || !expected),
            "{got:?} {allowed}"
        );
    }

    #[test]
    fn a_mapping_is_found_among_others_and_counted_once() {
        let smaps = "\
7f0000000000-7f0000200000 rw-p 00000000 00:00 0
KernelPageSize:        4 kB
Rss:                2048 kB
AnonHugePages:      2048 kB
7f0000200000-7f0000600000 rw-p 00000000 00:0e 1    /anon_hugepage (deleted)
KernelPageSize:     2048 kB
Rss:                   0 kB
AnonHugePages:         0 kB
Private_Hugetlb:    4096 kB
";
        let at = |from: u64, to: u64| obtained(smaps.as_bytes(), from, to).unwrap();
        let first = at(0x7f00_0000_0000, 0x7f00_0020_0000);
        assert_eq!(first, Obtained { bytes: 2 << 20, huge_bytes: 2 << 20, reserved: false });
        let second = at(0x7f00_0020_0000, 0x7f00_0060_0000);
        assert_eq!(second, Obtained { bytes: 4 << 20, huge_bytes: 4 << 20, reserved: true });
        assert_eq!(at(0x1000, 0x2000).bytes, 0);
    }

    #[test]
    fn nodes_are_read_with_their_page_size() {
        let maps = "7f0000000000 default anon=512 dirty=512 N0=2 N1=510 kernelpagesize_kB=4\n\
                    7f0001000000 default file=/x N0=1 kernelpagesize_kB=4\n";
        let found = nodes(maps.as_bytes(), 0x7f00_0000_0000, 0x7f00_0010_0000).unwrap();
        assert_eq!(found, [(0, 2 * 4096), (1, 510 * 4096)]);
    }
}
