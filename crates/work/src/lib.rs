//! Programs of known truth: each does one known thing and prints how long it took by its own clock.
//!
//! A test runs `dwell run -- dwell-work NAME` and compares dwell's account with the line that the
//! program printed, not with a nominal duration, which a busy machine never keeps. Every program is
//! bounded, and is killed by its own alarm if it does not end.
//!
//! The tests decide what the figures are compared with, and how closely.

pub mod board;
pub mod clock;
pub mod process;
pub mod programs;
pub mod truth;

pub use truth::Truth;

/// Why a program failed: what was tried, and the system's error.
pub type Failure = Box<dyn std::error::Error>;

/// One program of known truth.
pub struct Program {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does.
    pub what: &'static str,
    /// What the line that it prints holds.
    pub truth: &'static str,
    /// Does it. `None` where another image has printed the line, or there is none.
    pub run: fn(&[String]) -> Result<Option<Truth>, Failure>,
}

/// The program of that name.
pub fn find(name: &str) -> Option<&'static Program> {
    all().find(|program| program.name == name)
}

/// Every program, by topic.
pub fn all() -> impl Iterator<Item = &'static Program> {
    programs::TOPICS.iter().flat_map(|topic| topic.iter())
}

/// Argument `index` as a number, or `default` where it is not given.
pub(crate) fn number(args: &[String], index: usize, default: u64) -> Result<u64, Failure> {
    match args.get(index) {
        None => Ok(default),
        Some(text) => {
            text.parse().map_err(|error| format!("cannot read {text:?} as a number: {error}").into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::all;

    #[test]
    fn no_two_programs_share_a_name() {
        let mut names: Vec<_> = all().map(|program| program.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
