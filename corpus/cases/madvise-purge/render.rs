//! Renders 700 tiles in one buffer of 1 MiB that is given back after each, or kept.
extern "C" {
    fn mmap(at: *mut u8, n: usize, prot: i32, flags: i32, fd: i32, off: i64) -> *mut u8;
    fn madvise(at: *mut u8, n: usize, advice: i32) -> i32;
}
const SIZE: usize = 1 << 20;

fn tile(buffer: &mut [u8], i: usize) -> u64 {
    for (k, b) in buffer.iter_mut().enumerate() {
        *b = (k as u8).wrapping_mul(i as u8);
    }
    (0..7).map(|r| buffer.iter().skip(r).step_by(3).map(|&b| b as u64).sum::<u64>()).sum()
}

fn main() {
    let purge = std::env::args().nth(1).as_deref() == Some("purge");
    // Private pages of no file, readable and writable; 4 is MADV_DONTNEED.
    let at = unsafe { mmap(std::ptr::null_mut(), SIZE, 3, 0x22, -1, 0) };
    let mut sum = 0;
    for i in 0..700 {
        let buffer = unsafe { std::slice::from_raw_parts_mut(at, SIZE) };
        sum += tile(buffer, i);
        if purge {
            unsafe { madvise(at, SIZE, 4) };
        }
    }
    println!("{sum}");
}
