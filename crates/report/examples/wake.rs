//! Prints sample pages of wake-ups: `cargo run -p dwell-report --example wake -- WIDTH [plain]
//! [ascii] [NAME…]`; with `to DIR` it writes their pictures there.
// A development aid with its own `main`, not part of the crate.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

#[path = "../tests/it/wakes/mod.rs"]
mod wakes;

use dwell_report::Look;
use dwell_report::compare::{wakes, wakes_png, wakes_svg};
use dwell_report::wake::{png, sheet_png, sheet_svg, sheet_terminal, svg, terminal};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let said = |word: &str| words.iter().any(|other| other == word);
    let width = words.iter().find_map(|word| word.parse().ok()).unwrap_or(100);
    let look = Look { width, colour: !said("plain"), unicode: !said("ascii"), height: Look::HEIGHT };
    let dir = words.iter().position(|word| word == "to").and_then(|at| words.get(at + 1));
    let names =
        ["board", "vm", "gap", "odd", "empty", "sheet", "sheet-partial", "diff", "diff-sheet", "diff-empty"];
    let named = names.iter().any(|name| said(name));
    let write = |name: &str, svg: String, png: Vec<u8>| {
        if let Some(dir) = dir {
            std::fs::write(format!("{dir}/{name}.svg"), svg).expect("the SVG can be written");
            std::fs::write(format!("{dir}/{name}.png"), png).expect("the PNG can be written");
        }
    };
    for (name, wakeups) in wakes::all().iter().filter(|(name, _)| !named || said(name)) {
        println!("{}", terminal(wakeups, look));
        write(name, svg(wakeups), png(wakeups));
    }
    for (name, cases) in [("sheet", 5), ("sheet-partial", 2)] {
        if !named || said(name) {
            let sheet = wakes::sheet(cases);
            println!("{}", sheet_terminal(&sheet, look, None));
            write(name, sheet_svg(&sheet), sheet_png(&sheet));
        }
    }
    for (name, diff) in wakes::diffs().iter().filter(|(name, _)| !named || said(name)) {
        println!("{}", wakes(diff, look));
        write(name, wakes_svg(diff), wakes_png(diff));
    }
}
