//! Values of the options of `dwell compare`.

use clap::ValueEnum;
use model::timing::Figure;
use std::path::PathBuf;

/// A figure that commands are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum FigureArg {
    /// Wall clock
    #[default]
    Wall,
    /// CPU time in user mode, including that of children that were waited for
    User,
    /// CPU time in the kernel
    Kernel,
    /// CPU time in user mode and in the kernel
    Cpu,
    /// Largest resident set size of a process
    Memory,
    /// Page faults
    Faults,
}

impl From<FigureArg> for Figure {
    fn from(figure: FigureArg) -> Self {
        match figure {
            FigureArg::Wall => Self::Wall,
            FigureArg::User => Self::User,
            FigureArg::Kernel => Self::Kernel,
            FigureArg::Cpu => Self::Cpu,
            FigureArg::Memory => Self::Memory,
            FigureArg::Faults => Self::Faults,
        }
    }
}

/// Exit statuses other than 0 with which a run counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IgnoredStatuses {
    All,
    These(Vec<i32>),
}

/// Parses `all`, `1,2`.
pub(super) fn ignored(text: &str) -> Result<IgnoredStatuses, String> {
    if ["all", "all-non-zero"].contains(&text) {
        return Ok(IgnoredStatuses::All);
    }
    let code = |code: &str| code.trim().parse::<u8>().ok().filter(|code| *code > 0).map(i32::from);
    let codes: Option<Vec<i32>> = text.split(',').map(code).collect();
    codes.map(IgnoredStatuses::These).ok_or_else(|| "not exit statuses; try: -i, or -i=1,2".to_owned())
}

/// Where a command reads from, or writes to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum StreamArg {
    #[default]
    Null,
    Pipe,
    Inherit,
    File(PathBuf),
}

/// Parses `null`, `pipe`, `inherit`, or a path.
pub(super) fn stream(text: &str) -> Result<StreamArg, String> {
    Ok(match text {
        "null" => StreamArg::Null,
        "pipe" => StreamArg::Pipe,
        "inherit" => StreamArg::Inherit,
        "" => return Err("no file; try: null, pipe, inherit, or a path".to_owned()),
        path => StreamArg::File(path.into()),
    })
}

/// Parses `NAME=VALUE`.
pub(super) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !text.contains('\0') => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("not a variable; try: NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_numbers_of_failures() {
        assert_eq!(ignored("all"), Ok(IgnoredStatuses::All));
        assert_eq!(ignored("1, 77"), Ok(IgnoredStatuses::These(vec![1, 77])));
        for wrong in ["", "0", "256", "-1", "x", "1,,2"] {
            assert!(ignored(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn streams_are_names_or_files() {
        assert_eq!(stream("pipe"), Ok(StreamArg::Pipe));
        assert_eq!(stream("./null"), Ok(StreamArg::File("./null".into())));
        assert!(stream("").is_err());
    }

    #[test]
    fn a_variable_has_a_name() {
        assert_eq!(variable("A=b=c"), Ok(("A".to_owned(), "b=c".to_owned())));
        assert_eq!(variable("A="), Ok(("A".to_owned(), String::new())));
        assert!(variable("=x").is_err() && variable("A").is_err());
    }
}
