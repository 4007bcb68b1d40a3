//! Steps that each change one entry of a table.

use std::collections::HashMap;

type Words = HashMap<String, u64>;

fn raised(mut words: Words, at: u64) -> Words {
    *words.entry(format!("word-{}", at % 3000)).or_default() += at;
    words
}

fn main() {
    let clone = std::env::args().nth(1).as_deref() == Some("clone");
    let mut words: Words = (0..3000).map(|at| (format!("word-{at}"), at)).collect();
    for at in 0..2000 {
        words = if clone { raised(words.clone(), at) } else { raised(words, at) };
    }
    println!("{}", words.values().sum::<u64>());
}
