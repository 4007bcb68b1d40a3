//! How well the name of a function matches a query.
//!
//! Making names from symbols is left to crate `code`, shortening them for a page to `report`.

/// How a name matches; better ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// It is the name.
    Exact,
    /// The name but for parameters, or for a suffix of the compiler (`.constprop.0`).
    Bare,
    /// Its last parts: `b::c` of `a::b::c`.
    Last,
    /// Anywhere in it.
    Part,
}

impl Match {
    /// How `wanted` matches a name that is `full` with and `bare` without parameters. An empty name
    /// matches nothing.
    pub fn of(wanted: &str, full: &str, bare: &str) -> Option<Match> {
        let last = |path: &str| path.ends_with("::") || path.ends_with('.');
        if full == wanted {
            Some(Match::Exact)
        } else if wanted.is_empty() {
            None
        } else if bare == wanted {
            Some(Match::Bare)
        } else if bare.strip_suffix(wanted).is_some_and(last) {
            Some(Match::Last)
        } else if full.contains(wanted) {
            Some(Match::Part)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_kind_of_match_is_given() {
        let full = "grid::Row<int>::push_back(int)";
        for (wanted, expected) in [
            (full, Some(Match::Exact)),
            ("grid::Row::push_back", Some(Match::Bare)),
            ("Row::push_back", Some(Match::Last)),
            ("push_back", Some(Match::Last)),
            ("back", Some(Match::Part)),
            ("Row<int>", Some(Match::Part)),
            ("column", None),
            ("", None),
        ] {
            assert_eq!(Match::of(wanted, full, "grid::Row::push_back"), expected, "{wanted}");
        }
        assert_eq!(Match::of("f", "mod.f", "mod.f"), Some(Match::Last));
    }
}
