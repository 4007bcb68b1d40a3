//! Reads 120 folders (here: computes their entries) with four workers, made for each or once.
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

fn entry(i: u64) -> u64 {
    (0..1_000_000).fold(i, |x, k| x.wrapping_mul(6364136223846793005).wrapping_add(k))
}

fn part(n: u64) -> u64 {
    (0..3).map(|k| entry(n + k)).fold(0, u64::wrapping_add)
}

fn folder(n: u64) -> u64 {
    let workers: Vec<_> =
        (0..4).map(|w| thread::spawn(move || part(n + w * 3))).collect();
    workers.into_iter().map(|w| w.join().unwrap()).fold(0, u64::wrapping_add)
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("each") {
        println!("{}", (0..120).map(folder).fold(0, u64::wrapping_add));
        return;
    }
    let (send, receive) = channel::<u64>();
    let receive = Arc::new(Mutex::new(receive));
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let receive = receive.clone();
            thread::spawn(move || {
                let mut sum = 0u64;
                loop {
                    let next = receive.lock().unwrap().recv();
                    match next {
                        Ok(n) => sum = sum.wrapping_add(part(n)),
                        Err(_) => return sum,
                    }
                }
            })
        })
        .collect();
    (0..120).for_each(|n| (0..4).for_each(|w| send.send(n + w * 3).unwrap()));
    drop(send);
    println!("{}", workers.into_iter().map(|w| w.join().unwrap()).fold(0, u64::wrapping_add));
}
