//! The vDSO: the same image in all processes, so dwell reads its own.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// It is two to four pages.
const LEN_MAX: u64 = 1 << 20;

/// The image, or the reason why it cannot be read.
pub(crate) fn read() -> Result<Vec<u8>, String> {
    let maps = std::fs::read_to_string("/proc/self/maps").map_err(|error| error.to_string())?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]")).ok_or("dwell itself has none")?;
    let range = line.split(' ').next().and_then(|range| range.split_once('-'));
    let parse = |text| u64::from_str_radix(text, 16).ok();
    let (start, end) = range.and_then(|(start, end)| Some((parse(start)?, parse(end)?))).unwrap_or_default();
    let len = end.checked_sub(start).filter(|len| *len <= LEN_MAX).ok_or("it is too large")?;
    let mut image = vec![0; len as usize];
    let memory = File::open("/proc/self/mem").map_err(|error| error.to_string())?;
    memory.read_exact_at(&mut image, start).map_err(|error| error.to_string())?;
    Ok(image)
}
