//! Three threads print what they computed.

use std::fmt::Write as _;
use std::io::Write as _;
use std::thread;

fn check(part: u64, at: u64) -> u64 {
    (0..20).fold(part * 1_000_003 + at, |sum, step| sum.wrapping_mul(31).wrapping_add(step))
}

fn lines(part: u64) {
    for at in 0..40_000 {
        println!("part {part} item {at} sum {}", check(part, at));
    }
}

fn blocks(part: u64) {
    let mut text = String::new();
    for at in 0..40_000 {
        let _ = writeln!(text, "part {part} item {at} sum {}", check(part, at));
    }
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

fn main() {
    let work = if std::env::args().nth(1).as_deref() == Some("lines") { lines } else { blocks };
    let threads: Vec<_> = (0..3).map(|part| thread::spawn(move || work(part))).collect();
    for thread in threads {
        thread.join().expect("a part failed");
    }
}
