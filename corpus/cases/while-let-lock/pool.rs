//! A pool of four workers that take jobs from one queue. A job reads a sensor, which takes 20 ms,
//! and checks what it read.
use std::sync::mpsc::{channel, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

fn read_sensor(number: u64) -> u64 {
    thread::sleep(Duration::from_millis(20));
    let mut x = number + 1;
    for _ in 0..400_000 {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    }
    x >> 33
}

fn work_in_condition(queue: &Mutex<Receiver<u64>>) -> u64 {
    let mut sum = 0;
    while let Ok(job) = queue.lock().unwrap().recv() {
        sum += read_sensor(job);
    }
    sum
}

fn work_after_unlock(queue: &Mutex<Receiver<u64>>) -> u64 {
    let mut sum = 0;
    loop {
        let job = queue.lock().unwrap().recv();
        match job {
            Ok(job) => sum += read_sensor(job),
            Err(_) => return sum,
        }
    }
}

fn main() {
    let after = std::env::args().nth(1).as_deref() == Some("after");
    let (send, receive) = channel();
    let queue = Arc::new(Mutex::new(receive));
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let queue = queue.clone();
            thread::spawn(move || {
                if after {
                    work_after_unlock(&queue)
                } else {
                    work_in_condition(&queue)
                }
            })
        })
        .collect();
    for job in 0..32 {
        send.send(job).unwrap();
    }
    drop(send);
    let sum: u64 = workers.into_iter().map(|w| w.join().unwrap()).sum();
    println!("{sum}");
}
