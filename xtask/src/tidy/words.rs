//! Turns of phrase that a reader has to read twice, in documents, help, messages and comments, each
//! with a plainer one.
//!
//! What is kept as it was written is exempt: decisions, results, and what recordings and pages
//! said.

use super::Source;

/// Files with history: what they say is of their time.
const HISTORY: &[&str] = &[
    "docs/decisions/",
    "docs/results/",
    "docs/pages/",
    "crates/golden/recordings/",
    "crates/report/tests/golden/",
    "crates/report/tests/samples/",
    // Names what it bans.
    "xtask/src/tidy/words.rs",
];

/// Phrases, and what is plainer.
const PHRASES: &[(&str, &str)] = &[
    ("of those that", "name them: `of the calls that …`"),
    ("so many", "`this many`, or the number's name"),
    ("is said", "who says it: `the page says`, `reported as`"),
    ("goes along", "`the high end includes`, `is saved with`"),
    ("go along", "`the high end includes`, `are saved with`"),
    ("by a dwell that", "`the dwell version that`"),
    ("is no hundredth", "`is less than 1 %`"),
    ("are no hundredth", "`are less than 1 %`"),
];

/// What may follow a phrase and makes another one of it: `so many that there is no room`.
const EXCEPTIONS: &[&str] = &["so many that"];

/// The whole sentence; what was counted is for it to say.
const ALONE: &[(&str, &str)] = &[("Counted.", "`this is counted`, with its subject")];

/// Beginnings of documentation without a subject.
const OPENINGS: &[(&str, &str)] = &[
    ("Of a ", "what it is: `The time of a …`"),
    ("Of an ", "what it is: `The time of an …`"),
    ("Of the ", "what it is: `The part of the …`"),
    ("Of those", "what it is: `Calls that …`"),
    ("The same,", "what it is; `As [`other`], but …`"),
    ("So much", "what it is: `The part …`"),
    ("So many", "what it is: `Number of …`"),
    ("Those that", "what they are: `Calls that …`"),
    ("With whose", "what it is: `The ledger that …`"),
];

/// The complaints about one file.
pub(crate) fn check(source: &Source) -> Vec<String> {
    if HISTORY.iter().any(|start| source.path.starts_with(start)) {
        return Vec::new();
    }
    let is_rust = match source.extension() {
        "md" => false,
        "rs" => true,
        _ => return Vec::new(),
    };
    let mut complaints = Vec::new();
    let mut before = "";
    for (index, line) in source.text.lines().enumerate() {
        let mut complain = |said: &str, better: &str| {
            complaints.push(format!("{}:{}: {said:?}: say {better}", source.path, index + 1));
        };
        PHRASES
            .iter()
            .filter(|(phrase, _)| has(line, phrase))
            .for_each(|(said, better)| complain(said, better));
        ALONE
            .iter()
            .filter(|(words, _)| stands_alone(line, words))
            .for_each(|(said, better)| complain(said, better));
        if let Some(first) =
            documentation(line).filter(|_| is_rust && documentation(before).is_none_or(str::is_empty))
        {
            let opening = OPENINGS.iter().find(|(opening, _)| first.starts_with(opening));
            opening.into_iter().for_each(|(said, better)| complain(said, better));
        }
        before = line;
    }
    complaints
}

/// Whether the line has the phrase as whole words.
fn has(line: &str, phrase: &str) -> bool {
    let lower = line.to_lowercase();
    let is_word = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
    lower.match_indices(phrase).any(|(at, _)| {
        let after = &lower[at + phrase.len()..];
        !is_word(lower[..at].chars().next_back())
            && !is_word(after.chars().next())
            && !EXCEPTIONS.iter().any(|exception| lower[at..].starts_with(exception))
    })
}

/// Whether these words are a sentence: they begin one, and end with a full stop.
fn stands_alone(line: &str, words: &str) -> bool {
    line.match_indices(words).any(|(at, _)| {
        let before = line[..at].trim_end();
        before.is_empty() || before.ends_with(['.', '*', '"', '/', '!', '|', '>'])
    })
}

/// The text of a line of Rust documentation.
fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, text: &str) -> usize {
        check(&Source { path: path.into(), text: text.into() }).len()
    }

    #[test]
    fn what_has_to_be_read_twice_is_found() {
        assert_eq!(of("README.md", "At most, entering the kernel goes along.\n"), 1);
        assert_eq!(of("docs/guide.md", "It is said. So many of those that wait.\n"), 3);
        assert_eq!(of("docs/causes.md", "All calls but one. Counted. The rest\n"), 1);
        assert_eq!(of("a.rs", "/// Of a thread that comes.\nfn new() {}\n"), 1);
        assert_eq!(of("a.rs", "fn new() {}\n\n/// Those that are not apart.\n"), 1);
        assert_eq!(of("a.rs", "/// A heading.\n///\n/// The same, twice.\n"), 1);
    }

    #[test]
    fn plain_words_are_left() {
        assert_eq!(of("README.md", "There were so many that it is saidable; it is counted.\n"), 0);
        assert_eq!(of("a.rs", "/// The clocks of a thread, at the end\n/// Of the run.\n"), 0);
        assert_eq!(of("a.rs", "// Of a line of code.\n"), 0, "comments on lines go on from the code");
        assert_eq!(of("docs/decisions/001-a.md", "So many.\n"), 0);
    }
}
