//! Parses lines of three words and gives each word a number.
use std::collections::HashMap;

fn main() {
    let text: String = (0..60_000).map(|i| format!("s{} p{} o{}\n", i % 9000, i % 40, i)).collect();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut triples = Vec::new();
    for line in text.lines() {
        let mut t = [0; 3];
        for (k, word) in line.split(' ').enumerate() {
            let next = numbers.len();
            t[k] = *numbers.entry(word).or_insert(next);
        }
        triples.push(t);
    }
    println!("{} {}", numbers.len(), triples.iter().map(|t| t[0] ^ t[2]).sum::<usize>());
}
