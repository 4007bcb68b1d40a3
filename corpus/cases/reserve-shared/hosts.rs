//! Runs twelve small hosts, one after another. Each gets a block of shared memory, which is
//! reserved in full so that a lack of memory is seen at once, and uses 600 kB of it.
use std::ffi::{c_char, c_int, c_long, c_uint};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;

extern "C" {
    fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
    fn posix_fallocate(fd: c_int, offset: c_long, len: c_long) -> c_int;
}

#[inline(never)]
fn reserve(bytes: i64) -> File {
    unsafe {
        let fd = memfd_create(b"host\0".as_ptr().cast(), 0);
        assert!(fd >= 0);
        assert_eq!(posix_fallocate(fd, 0, bytes), 0);
        File::from_raw_fd(fd)
    }
}

fn host(block: &File, n: u64) -> u64 {
    let mut sum = n;
    for i in 0..150 {
        let part: Vec<u8> = (0..4096u64).map(|b| (b * i + n) as u8).collect();
        block.write_all_at(&part, i * 4096).unwrap();
    }
    let mut part = vec![0; 4096];
    for i in 0..150 {
        block.read_exact_at(&mut part, i * 4096).unwrap();
        sum = part.iter().fold(sum, |s, &b| s.wrapping_mul(31).wrapping_add(b as u64));
    }
    sum
}

fn main() {
    let megabytes: i64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let mut sum = 0;
    for n in 0..12 {
        let block = reserve(megabytes << 20);
        assert!(block.as_raw_fd() >= 0);
        sum = host(&block, n ^ sum);
    }
    println!("{sum:x}");
}
