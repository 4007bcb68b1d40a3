//! A release build: a generic function, one that is inlined into it, and a trait object.
use std::hint::black_box;
use std::time::{Duration, Instant};

pub struct Grid<T>(Vec<T>);

#[inline(always)]
fn scatter(value: u64) -> u64 {
    (value ^ (value >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15) // line of scatter
}

impl<T: Copy + Into<u64>> Grid<T> {
    #[inline(never)]
    fn sum_up(&self) -> u64 {
        self.0.iter().fold(1, |sum, item| scatter(sum ^ (*item).into()))
    }
}

trait Worker {
    fn work(&self) -> u64;
}

struct Digger(Grid<u32>);

impl Worker for Digger {
    #[inline(never)]
    fn work(&self) -> u64 {
        black_box(self.0.sum_up()) + 1
    }
}

fn main() {
    let worker: Box<dyn Worker> = Box::new(Digger(Grid(vec![7; 100_000])));
    let begun = Instant::now();
    let mut total = 0_u64;
    while begun.elapsed() < Duration::from_millis(400) {
        total = total.wrapping_add(black_box(&worker).work());
    }
    println!("{}", total != 0);
}
