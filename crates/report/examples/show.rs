//! Prints the sample pages: `cargo run -p dwell-report --example show -- WIDTH [plain] [ascii]
//! [NAME…]`.
// A development aid with its own `main`, not part of the crate.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

#[path = "../tests/it/samples/mod.rs"]
mod samples;

use dwell_report::{Look, terminal};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let said = |word: &str| words.iter().any(|other| other == word);
    let width = words.iter().find_map(|word| word.parse().ok()).unwrap_or(100);
    let look = Look { width, colour: !said("plain"), unicode: !said("ascii"), height: Look::HEIGHT };
    let all = samples::all();
    let named = all.iter().any(|(name, _)| said(name));
    for (_, run) in all.iter().filter(|(name, _)| !named || said(name)) {
        let result = samples::result(run, None);
        println!("{}", terminal(&result.run, &result.diagnosis, look));
    }
}
