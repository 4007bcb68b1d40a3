//! What programs of several pairs do.

use std::fs::{self, File};
use std::hint::black_box;
use std::io;

/// Work that no compiler leaves out: about 1 ms for each million rounds.
#[inline(never)]
pub(crate) fn compute(rounds: u64) {
    let mut x = 88_172_645_463_325_252_u64;
    for _ in 0..rounds {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    keep(x);
}

/// So many bytes that are not all the same.
pub(crate) fn filled(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at % 251) as u8).collect()
}

/// Takes a result, so that what made it is not left out.
pub(crate) fn keep<T>(result: T) {
    black_box(result);
}

/// Lets the kernel forget what it has of a file in memory, as far as the disk has it.
pub(crate) fn forget(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?)
}

/// A directory of directories that have a hundred names each, all of them of one empty file.
pub(crate) fn tree(path: &str, names: u64) -> io::Result<()> {
    fs::create_dir(path)?;
    for directory in 0..names.div_ceil(100) {
        fs::create_dir(format!("{path}/{directory}"))?;
    }
    fs::write(format!("{path}/0/0"), "")?;
    for name in 1..names {
        fs::hard_link(format!("{path}/0/0"), format!("{path}/{}/{name}", name / 100))?;
    }
    Ok(())
}

/// A directory that no run had before this one. Its files are emptied and stay there: to make files
/// where many were removed takes ext4 several times as long, since it passes over each inode that
/// was freed in the last minutes, and every run would find another state.
pub(crate) fn fresh_directory(name: &str) -> io::Result<String> {
    let path = format!("{name}-{}", std::process::id());
    fs::create_dir(&path)?;
    Ok(path)
}
