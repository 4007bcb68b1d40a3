//! Counts the primes below 120 million in segments of 16 KiB.
fn main() {
    const N: usize = 120_000_000;
    const SEGMENT: usize = 16384;
    let root = (N as f64).sqrt() as usize + 1;
    let mut small = vec![true; root];
    let mut primes = vec![];
    for i in 2..root {
        if small[i] {
            primes.push(i);
            (i * i..root).step_by(i).for_each(|k| small[k] = false);
        }
    }
    let mut next: Vec<usize> = primes.iter().map(|p| p * p).collect();
    let mut count = 0;
    let mut low = 2;
    while low < N {
        let high = (low + SEGMENT).min(N);
        let mut segment = [true; SEGMENT];
        for (p, n) in primes.iter().zip(next.iter_mut()) {
            while *n < high {
                segment[*n - low] = false;
                *n += p;
            }
        }
        count += segment[..high - low].iter().filter(|&&b| b).count();
        low = high;
    }
    println!("{count}");
}
