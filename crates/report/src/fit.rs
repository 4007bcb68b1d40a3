//! A page cut to a screen: its tables lose their last rows, which are those that matter least.

use crate::Look;
use crate::paint::{Ink, Line};

/// The most lines: on a screen of 30 there is room for the command and the next prompt.
pub(crate) const SCREEN_LINES: usize = 28;
/// Lines that any part keeps, with the one that says how many are missing.
const LEAST: usize = 3;

/// The page as it is, where it fits a screen. Else its longest parts (those between empty lines)
/// are cut, all to the same length, and say so; where there are too many parts, those before the
/// last go: it has the verdict, or what the figures rest on.
pub fn fit(page: &str, look: Look) -> String {
    let parts: Vec<Vec<&str>> = page.trim_end().split("\n\n").map(|part| part.lines().collect()).collect();
    let lines = |parts: &[Vec<&str>], cap: usize| {
        parts.iter().map(|part| part.len().min(cap)).sum::<usize>() + parts.len().saturating_sub(1)
    };
    if lines(&parts, usize::MAX) <= SCREEN_LINES {
        return page.to_owned();
    }
    // The last line says where the rest is.
    let room = SCREEN_LINES - 2;
    let last = parts.len() - 1;
    let first = |kept: usize| [&parts[..kept], &parts[last..]].concat();
    let kept = (0..=last).rev().find(|kept| lines(&first(*kept), LEAST) <= room).unwrap_or(0);
    let shown = &first(kept);
    let cap = (LEAST..=room).rev().find(|cap| lines(shown, *cap) <= room).unwrap_or(LEAST);
    let mut text = String::new();
    for part in shown {
        let keep = if part.len() <= cap { part.len() } else { cap - 1 };
        for line in &part[..keep] {
            text.push_str(line);
            text.push('\n');
        }
        if keep < part.len() {
            let more = format!("  {} {} more lines", look.rest(), part.len() - keep);
            text.push_str(&Line::new(look).add(Ink::Dim, &more).render());
            text.push('\n');
        }
        text.push('\n');
    }
    let more = if kept < last { "-v: all, and further tables" } else { "-v: all" };
    text + &Line::new(look).add(Ink::Dim, more).render() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look { width: 80, colour: false, unicode: true };

    fn page(parts: &[usize]) -> String {
        let part = |(at, lines): (usize, &usize)| {
            (0..*lines).map(|line| format!("part {at} line {line}\n")).collect::<String>()
        };
        parts.iter().enumerate().map(part).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_page_that_fits_stays_as_it_is() {
        for parts in [&[3, 4][..], &[28], &[1, 1, 1]] {
            assert_eq!(fit(&page(parts), LOOK), page(parts));
        }
    }

    #[test]
    fn the_longest_parts_are_cut_and_say_so() {
        let fitted = fit(&page(&[2, 40, 5, 12]), LOOK);
        assert_eq!(fitted.lines().count(), SCREEN_LINES, "{fitted}");
        assert!(fitted.contains("part 0 line 1\n\npart 1 line 0\n"), "{fitted}");
        assert!(fitted.contains("part 1 line 6\n  … 33 more lines\n\npart 2"), "{fitted}");
        assert!(fitted.contains("part 2 line 4\n\n"), "a short part is whole\n{fitted}");
        assert!(fitted.ends_with("\n-v: all\n"), "{fitted}");
    }

    #[test]
    fn of_too_many_parts_those_before_the_last_go() {
        let fitted = fit(&page(&[5; 40]), LOOK);
        assert!(fitted.lines().count() <= SCREEN_LINES, "{fitted}");
        assert!(fitted.contains("part 0 line 1\n  … 3 more lines\n"), "{fitted}");
        assert!(fitted.contains("part 39 line 1\n"), "{fitted}");
        assert!(fitted.ends_with("-v: all, and further tables\n"), "{fitted}");
    }
}
