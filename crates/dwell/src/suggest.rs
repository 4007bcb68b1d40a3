//! Names that are near to one that does not exist, for `try:`.

use std::collections::BTreeSet;

/// The most that are suggested.
const SUGGESTED: usize = 3;
/// The least likeness, from 0 to 1: two letters of ten are other ones.
const LIKE: f64 = 0.75;

/// The names that are most like `wrong`, the nearest first; none where none is near.
pub(crate) fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let names: BTreeSet<&str> = names.collect();
    let lower = wrong.to_lowercase();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        let part = lower.chars().count() >= 3 && name.contains(&lower);
        // In a short name one letter is more than a quarter of it.
        let slip = lower.chars().count() >= 3 && strsim::osa_distance(&lower, &name) <= 1;
        strsim::jaro_winkler(&lower, &name).max(if part || slip { LIKE } else { 0.0 })
    };
    let mut near: Vec<(f64, &str)> = names.into_iter().map(|name| (likeness(name), name)).collect();
    near.retain(|(likeness, _)| *likeness >= LIKE);
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().take(SUGGESTED).map(|(_, name)| name).collect()
}

/// The commands with these names, then the one that lists all.
pub(crate) fn or_all(command: &str, near: &[&str], all: &str) -> String {
    let each: String = near.iter().map(|name| format!("{command} {name}, ")).collect();
    if each.is_empty() { all.to_owned() } else { format!("{each}or {all}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_commands_before_the_one_that_lists_all() {
        let all = "dwell lab (lists all 45)";
        assert_eq!(or_all("dwell lab", &[], all), all);
        let said = or_all("dwell lab", &["small-files", "small-reads"], all);
        assert_eq!(said, format!("dwell lab small-files, dwell lab small-reads, or {all}"));
    }

    #[test]
    fn typing_errors_and_parts_are_near_and_other_names_are_not() {
        let names = ["parse_header", "parse_body", "main", "malloc", "nginx", "run"];
        let near = |wrong| nearest(wrong, names.into_iter());
        assert_eq!(near("pasre_header")[0], "parse_header");
        assert_eq!(near("header"), ["parse_header"]);
        assert_eq!(near("ngnix"), ["nginx"]);
        assert_eq!(near("rnu"), ["run"]);
        assert!(near("zzz").is_empty() && near("").is_empty());
    }
}
