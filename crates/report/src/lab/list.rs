//! The list of the lab's pairs.

use crate::Look;
use crate::clean::width;
use crate::paint::{GAP, Ink, Line, joined};
use crate::units::count;

/// A pair in the list.
#[derive(Debug)]
pub struct Listed {
    /// Its name.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The cause of the slow way.
    pub cause: Option<&'static str>,
    /// How much it does by default.
    pub size: u64,
    /// Of what.
    pub unit: &'static str,
    /// The names of its ways.
    pub ways: Vec<&'static str>,
    /// Whether it comes from a writing.
    pub writing: bool,
}

/// All pairs: what each shows, its cause, and how much it does, whole at any width.
pub fn list(pairs: &[Listed], look: Look) -> String {
    let wide = pairs.iter().map(|pair| width(pair.name)).max().unwrap_or(0) + 2 * GAP;
    let group = |title: &str, of: &dyn Fn(&Listed) -> bool| {
        let of_pair = |pair: &Listed| {
            let line = Line::new(look).pad_to(GAP).add(Ink::Bold, pair.name).pad_to(wide);
            let cause = pair.cause.map_or_else(String::new, |cause| format!("{cause}, "));
            let line = line.add(Ink::Plain, &format!("{}: ", pair.title));
            line.add(Ink::Dim, &format!("{cause}{}", amount(pair.size, pair.unit))).wrap(wide)
        };
        headed(title, pairs.iter().filter(|pair| of(pair)).flat_map(of_pair).collect(), look)
    };
    let next = Line::new(look).add(Ink::Dim, "next: dwell lab NAME, or dwell lab --score for all of them");
    joined(&[
        group("from writings on latency", &|pair| pair.writing),
        group("one for each other cause", &|pair| !pair.writing && pair.cause.is_some()),
        group("healthy, so that nothing may be claimed", &|pair| pair.cause.is_none()),
        vec![next],
    ])
}

/// The list that fits a screen: what the writings show, and the names of all others.
pub fn short_list(pairs: &[Listed], look: Look) -> String {
    let wide = pairs.iter().map(|pair| width(pair.name)).max().unwrap_or(0) + 2 * GAP;
    let of = |what: &dyn Fn(&&Listed) -> bool| pairs.iter().filter(what).collect::<Vec<_>>();
    let name = |line: Line, pair: &Listed, column: usize| {
        line.pad_to(column + GAP).add(Ink::Bold, pair.name).pad_to(column + wide)
    };
    let writings = of(&|pair| pair.writing);
    let writings = writings.into_iter().map(|pair| {
        let line = name(Line::new(look), pair, 0);
        line.add(Ink::Plain, pair.title).cut()
    });
    let causes = of(&|pair| !pair.writing && pair.cause.is_some());
    let cause = |line: Line, pair: &Listed, column: usize| {
        name(line, pair, column).add(Ink::Plain, pair.cause.unwrap_or_default())
    };
    let widest = causes.iter().filter_map(|pair| pair.cause).map(width).max().unwrap_or(0);
    let columns = (usize::from(look.width) / (wide + widest)).clamp(1, 2);
    let rows = causes.len().div_ceil(columns);
    let causes = (0..rows).map(|row| {
        let of_row = (0..columns).filter_map(|at| Some((at, causes.get(at * rows + row)?)));
        of_row.fold(Line::new(look), |line, (at, pair)| cause(line, pair, at * (wide + widest)))
    });
    let healthy = of(&|pair| pair.cause.is_none());
    let healthy: Vec<&str> = healthy.into_iter().map(|pair| pair.name).collect();
    let healthy = Line::new(look).pad_to(GAP).add(Ink::Bold, &healthy.join(" ")).wrap(GAP);
    let next = "next: dwell lab NAME; dwell lab -v: what each shows; dwell lab --score: all of them, scored";
    joined(&[
        headed("from writings on latency", writings.collect(), look),
        headed("one for each other cause", causes.collect(), look),
        headed("healthy, so that nothing may be claimed", healthy, look),
        Line::new(look).add(Ink::Dim, next).wrap(0),
    ])
}

/// Lines under a heading; nothing where there are none.
fn headed(title: &str, lines: Vec<Line>, look: Look) -> Vec<Line> {
    let heading = (!lines.is_empty()).then(|| Line::new(look).add(Ink::Bold, title));
    heading.into_iter().chain(lines).collect()
}

/// `4 million rounds each` of 4,000 times `thousand rounds each`.
fn amount(size: u64, unit: &str) -> String {
    let scaled = [("thousand ", 1_000), ("million ", 1_000_000)];
    let scaled = scaled.iter().find_map(|(word, times)| Some((unit.strip_prefix(word)?, *times)));
    let (unit, times) = scaled.unwrap_or((unit, 1));
    let all = size.saturating_mul(times);
    match all / 1_000_000 {
        millions if millions > 0 && all.is_multiple_of(1_000_000) => {
            format!("{} million {unit}", count(millions))
        }
        _ => format!("{} {unit}", count(all)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_whole_on_a_narrow_screen_and_thousands_of_thousands_are_millions() {
        let pair = |name, title, cause, size, unit| Listed {
            name,
            title,
            cause,
            size,
            unit,
            ways: Vec::new(),
            writing: false,
        };
        let long = "a look every 100 ms whether a process has ended, or a wait for its end";
        let pairs = [
            pair("polls", long, Some("sleep-polling"), 8, "processes"),
            pair("python-threads", "four threads", Some("interpreter-lock"), 4_000, "thousand rounds each"),
            pair("parses", "words of a text counted", None, 600, "thousand lines"),
        ];
        let page = list(&pairs, Look { width: 60, colour: false, unicode: true, height: Look::HEIGHT });
        let expected = "\
one for each other cause
  polls           a look every 100 ms whether a process has
                  ended, or a wait for its end:
                  sleep-polling, 8 processes
  python-threads  four threads: interpreter-lock, 4 million
                  rounds each

healthy, so that nothing may be claimed
  parses          words of a text counted: 600,000 lines

next: dwell lab NAME, or dwell lab --score for all of them
";
        assert_eq!(page, expected);
        let mut pairs = pairs;
        pairs[1].writing = true;
        let page = short_list(&pairs, Look { width: 60, colour: false, unicode: true, height: Look::HEIGHT });
        let expected = "\
from writings on latency
  python-threads  four threads

one for each other cause
  polls           sleep-polling

healthy, so that nothing may be claimed
  parses

next: dwell lab NAME; dwell lab -v: what each shows; dwell
lab --score: all of them, scored
";
        assert_eq!(page, expected);
    }
}
