//! Stores pieces by four threads that share a lock of their statistics.
use std::sync::Mutex;
use std::thread;

static STORED: Mutex<(u64, u64)> = Mutex::new((0, 0));

fn hash(piece: u64) -> u64 {
    let mut sum = piece;
    for round in 0..220_000u64 {
        sum = sum.rotate_left(7) ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    sum ^ u64::from(std::fs::metadata("case.toml").is_ok())
}

fn store(piece: u64, whole: bool) {
    if whole {
        let mut stored = STORED.lock().unwrap();
        stored.0 += 1;
        stored.1 ^= hash(piece);
    } else {
        let sum = hash(piece);
        let mut stored = STORED.lock().unwrap();
        stored.0 += 1;
        stored.1 ^= sum;
    }
}

fn main() {
    let whole = std::env::args().nth(1).as_deref() == Some("whole");
    let threads: Vec<_> = (0..4u64)
        .map(|of| thread::spawn(move || (0..600).for_each(|piece| store(of * 1000 + piece, whole))))
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    println!("{:?}", STORED.lock().unwrap());
}
