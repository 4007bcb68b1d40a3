//! A harness of one thread, for tests of what belongs to a process: its signals, its children. The
//! usual one has several. Its words are those that the lanes use.

use std::process::ExitCode;

/// A test with its name.
pub(crate) type Test = (&'static str, fn());

/// Runs the tests that the command line asks for, or lists them. A test that fails ends it.
pub(crate) fn run(tests: &[Test], words: &[&str]) -> ExitCode {
    // A test prints, as the usual harness does.
    #[allow(clippy::print_stdout)]
    if words.contains(&"--list") {
        let named = tests.iter().filter(|_| !words.contains(&"--ignored"));
        named.for_each(|(name, _)| println!("{name}: test"));
    } else {
        for (name, test) in tests.iter().filter(|(name, _)| wanted(words, name)) {
            test();
            println!("test {name} ... ok");
        }
    }
    ExitCode::SUCCESS
}

/// Whether the command line asks for this test, in the terms of the usual harness.
fn wanted(words: &[&str], name: &str) -> bool {
    let exact = words.contains(&"--exact");
    let mut filters = words.iter().filter(|word| !word.starts_with('-')).peekable();
    filters.peek().is_none()
        || filters.any(|filter| if exact { name == *filter } else { name.contains(filter) })
}
