//! A page cut to a screen: its tables lose their last rows, which are those that matter least, and
//! the later ones more than the first.

use crate::Look;
use crate::paint::{GAP, Ink, Line};

/// Lines that any part keeps, with the one that says how many are missing.
const LEAST: usize = 3;

/// The page as it is, where it fits a screen. Else its parts (those between empty lines) are cut
/// and say so: each keeps a few lines, and what room is left goes to the first, which has what the
/// page is read for, then to the next. Of too many parts those before the last go: it has
/// the verdict, or what the figures rest on.
pub fn fit(page: &str, look: Look) -> String {
    fit_with(page, None, look)
}

/// The same of a page that is short of a whole one: `more` is what `-v` adds.
pub(crate) fn fit_with(page: &str, more: Option<&str>, look: Look) -> String {
    let parts: Vec<Vec<&str>> = page.trim_end().split("\n\n").map(|part| part.lines().collect()).collect();
    // The last line says where the rest is.
    let room = look.lines() - 2;
    let lines = |parts: &[Vec<&str>]| parts.iter().map(Vec::len).sum::<usize>() + parts.len() - 1;
    if lines(&parts) <= if more.is_some() { room } else { look.lines() } {
        return more.map_or_else(|| page.to_owned(), |more| format!("{page}\n{}", verbose(more, look)));
    }
    let least =
        |parts: &[Vec<&str>]| parts.iter().map(|part| part.len().min(LEAST)).sum::<usize>() + parts.len() - 1;
    let last = parts.len() - 1;
    let first = |kept: usize| [&parts[..kept], &parts[last..]].concat();
    let kept = (0..=last).rev().find(|kept| least(&first(*kept)) <= room).unwrap_or(0);
    let shown = first(kept);
    let mut left = room.saturating_sub(least(&shown));
    let mut text = String::new();
    for part in &shown {
        let more = part.len().saturating_sub(LEAST).min(left);
        left -= more;
        // Of a part that is cut, the last line says how many are missing.
        let lines = part.len().min(LEAST) + more;
        let keep = if lines < part.len() { lines - 1 } else { lines };
        for line in &part[..keep] {
            text.push_str(line);
            text.push('\n');
        }
        if keep < part.len() {
            text.push_str(&more_lines(part.len() - keep, look).render());
            text.push('\n');
        }
        text.push('\n');
    }
    let all = if kept < last { "all, and further tables" } else { "all" };
    text + &verbose(more.unwrap_or(all), look)
}

/// The line that stands for so many that are cut.
pub(crate) fn more_lines(number: usize, look: Look) -> Line {
    let more = format!("{} {number} more lines", look.rest());
    Line::new(look).pad_to(GAP).add(Ink::Dim, &more)
}

/// The last line: what `-v` adds.
fn verbose(more: &str, look: Look) -> String {
    Line::new(look).add(Ink::Dim, &format!("-v: {more}")).render() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look { width: 80, colour: false, unicode: true, height: Look::HEIGHT };

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
    fn long_parts_are_cut_and_the_first_have_the_room() {
        let fitted = fit(&page(&[2, 40, 5, 12]), LOOK);
        assert_eq!(fitted.lines().count(), LOOK.lines(), "{fitted}");
        assert!(fitted.contains("part 0 line 1\n\npart 1 line 0\n"), "{fitted}");
        assert!(fitted.contains("part 1 line 13\n  … 26 more lines\n\npart 2"), "{fitted}");
        assert!(fitted.contains("part 2 line 1\n  … 3 more lines\n"), "{fitted}");
        let fitted = fit(&page(&[2, 10, 5, 12]), LOOK);
        assert!(fitted.contains("part 1 line 9\n\npart 2"), "what comes first is whole\n{fitted}");
        assert!(fitted.contains("part 2 line 4\n\npart 3 line 0"), "{fitted}");
        assert_eq!(fitted.lines().count(), LOOK.lines(), "{fitted}");
        assert!(fitted.ends_with("\n-v: all\n"), "{fitted}");
    }

    #[test]
    fn what_a_short_page_lacks_is_said_once() {
        let fitted = fit_with(&page(&[3, 4]), Some("notes"), LOOK);
        assert!(fitted.ends_with("part 1 line 3\n\n-v: notes\n"), "{fitted}");
        let fitted = fit_with(&page(&[3, 40]), Some("notes"), LOOK);
        assert_eq!((fitted.lines().count(), fitted.matches("-v:").count()), (LOOK.lines(), 1), "{fitted}");
    }

    #[test]
    fn of_too_many_parts_those_before_the_last_go() {
        let fitted = fit(&page(&[5; 40]), LOOK);
        assert!(fitted.lines().count() <= LOOK.lines(), "{fitted}");
        assert!(fitted.contains("part 0 line 4\n\n"), "{fitted}");
        assert!(fitted.contains("part 39 line 1\n"), "{fitted}");
        assert!(fitted.ends_with("-v: all, and further tables\n"), "{fitted}");
    }
}
