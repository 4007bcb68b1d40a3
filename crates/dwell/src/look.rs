//! What the output of a page supports: width, colour, characters outside ASCII; and the options for
//! it.

use clap::{Args, ValueEnum};
use report::Look;
use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use terminal_size::{Height, Width, terminal_size_of};

/// Columns where neither a terminal nor the environment has a width.
const DEFAULT_WIDTH: u16 = 100;

/// Extent, colour and width of a page.
#[derive(Debug, Default, Args)]
pub(crate) struct LookArgs {
    /// Show all tables; without it the page fits a screen
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// When to use colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Colour,

    /// Columns of the page [default: those of the terminal]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(20..))]
    pub(crate) width: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Colour {
    /// On terminals, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Kinds of outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputKind {
    Stdout,
    Stderr,
    File,
}

/// The look of a page on this output.
pub(crate) fn look(args: &LookArgs, kind: OutputKind) -> Look {
    let (terminal, size) = match kind {
        OutputKind::Stdout => (io::stdout().is_terminal(), terminal_size_of(io::stdout())),
        OutputKind::Stderr => (io::stderr().is_terminal(), terminal_size_of(io::stderr())),
        OutputKind::File => (false, None),
    };
    let columns = size.map(|(Width(columns), _)| columns).filter(|columns| *columns > 0);
    let rows = size.map(|(_, Height(rows))| rows).filter(|rows| *rows > 0);
    let asked_by_environment = || if kind == OutputKind::File { None } else { text("COLUMNS")?.parse().ok() };
    let width = args.width.or(columns).or_else(asked_by_environment).unwrap_or(DEFAULT_WIDTH);
    Look {
        // The largest number is a document's.
        width: width.min(u16::MAX - 1),
        colour: coloured(args.color, terminal, &text),
        unicode: unicode(&text),
        height: rows.unwrap_or(Look::HEIGHT),
    }
}

fn text(name: &str) -> Option<String> {
    env::var_os(name).map(OsString::into_string)?.ok().filter(|value| !value.is_empty())
}

/// The option takes precedence over the environment, and NO_COLOR over CLICOLOR_FORCE
/// (<https://no-color.org>, <https://bixense.com/clicolors>).
fn coloured(asked: Colour, terminal: bool, environment: &dyn Fn(&str) -> Option<String>) -> bool {
    match asked {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto if environment("NO_COLOR").is_some() => false,
        Colour::Auto if environment("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
        Colour::Auto => terminal && environment("TERM").is_none_or(|value| value != "dumb"),
    }
}

/// Whether the locale is UTF-8. Most containers have no locale, but their terminals are UTF-8.
fn unicode(environment: &dyn Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(environment);
    locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(set: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        move |name| set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn colour_is_for_terminals_by_default() {
        use Colour::*;
        for (asked, terminal, set, coloured_) in [
            (Auto, true, &[][..], true),
            (Auto, false, &[], false),
            (Auto, true, &[("NO_COLOR", "1")], false),
            (Always, false, &[("NO_COLOR", "1")], true),
            (Never, true, &[("CLICOLOR_FORCE", "1")], false),
            (Auto, false, &[("CLICOLOR_FORCE", "1")], true),
            (Auto, false, &[("CLICOLOR_FORCE", "0")], false),
            (Auto, false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
            (Auto, true, &[("TERM", "dumb")], false),
            (Auto, true, &[("TERM", "xterm")], true),
        ] {
            assert_eq!(
                coloured(asked, terminal, &environment(set)),
                coloured_,
                "{asked:?} {terminal} {set:?}"
            );
        }
    }

    #[test]
    fn the_first_locale_variable_decides() {
        assert!(unicode(&environment(&[])));
        assert!(unicode(&environment(&[("LANG", "de_AT.UTF-8")])));
        assert!(!unicode(&environment(&[("LANG", "de_AT.UTF-8"), ("LC_ALL", "C")])));
        assert!(unicode(&environment(&[("LC_CTYPE", "C.utf8"), ("LANG", "C")])));
    }
}
