//! Exact executions of basic blocks for a terminal: functions by executed instructions, and the
//! listings of some.

use crate::Look;
use crate::clean::clean;
use crate::hits::LEFT;
use crate::listing::listing;
use crate::units::{count, duration};
use ::listing::{CountedBlocks, Stopped};

/// The page of a program or of one function.
pub fn terminal(counted: &CountedBlocks, look: Look) -> String {
    let mut text = match &counted.function {
        None => of_program(counted, look),
        Some(function) if !function.loaded => {
            format!("the program never loaded {}\n", clean(&function.file, look.unicode))
        }
        Some(_) => String::new(),
    };
    for (at, listed) in counted.listings.iter().enumerate() {
        if at > 0 || counted.function.is_none() {
            text.push('\n');
        }
        text.push_str(&listing(listed, look));
    }
    text + &overhead(counted, look)
}

/// The functions with the most executed instructions, and the rest.
fn of_program(counted: &CountedBlocks, look: Look) -> String {
    let mut text = String::from("   instructions  function\n");
    let mut row = |instructions: u64, name: &str| {
        text.push_str(&format!("{:>15}  {}\n", count(instructions), clean(name, look.unicode)));
    };
    for function in &counted.functions {
        let module = function.module.rsplit('/').next().unwrap_or(&function.module);
        row(function.instructions, &format!("{} in {module}", function.name));
    }
    row(counted.other.instructions, &format!("{} other functions", counted.other.functions));
    for unnamed in &counted.unnamed {
        let module = if unnamed.module.is_empty() { "memory without a file" } else { &unnamed.module };
        row(unnamed.instructions, &format!("code without symbols in {module}"));
    }
    text
}

/// The overhead of counting, and what was not counted.
fn overhead(counted: &CountedBlocks, look: Look) -> String {
    let mut text = format!(
        "counted exactly: {} instructions stepped in {}",
        count(counted.steps),
        duration(counted.elapsed_ns)
    );
    if let Some(rate) = counted.steps_per_s() {
        text.push_str(&format!(" ({} per second; times are not meaningful)", count(rate as u64)));
    }
    if counted.children > 0 {
        text.push_str(&format!("; {} child processes not counted", counted.children));
    }
    text.push_str(match counted.stopped {
        Stopped::Ended => "",
        Stopped::Limit => "; stopped at the limit: counts are incomplete",
        Stopped::Signal => LEFT,
        Stopped::Entrusted => {
            "; stopped at a program with rights of its own (set-user-ID, or capabilities): counts are incomplete"
        }
        Stopped::Unsteppable => {
            "; stopped at an instruction that cannot be stepped (load-exclusive): counts are incomplete"
        }
    });
    clean(&text, look.unicode) + "\n"
}
