//! A command as it is typed in a shell, on one line.

use crate::Look;
use crate::clean::{clean, fit, width};
use crate::paint::{Ink, Line};

/// The command as typed in a shell. A long one is cut at two thirds, so that its end shows as well.
pub(crate) fn line(words: &[String], look: Look) -> Line {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let text = clean(&words.join(" "), look.unicode);
    let room = look.columns() - 2;
    let text = if width(&text) <= room {
        text
    } else {
        let front = fit(&text, room * 2 / 3, look.unicode);
        let mut back = String::new();
        for char in text.chars().rev() {
            if width(&back) + 2 > room - room * 2 / 3 {
                break;
            }
            back.insert(0, char);
        }
        front + &back
    };
    Line::new(look).add(Ink::Dim, "$ ").add(Ink::Bold, &text).cut()
}

/// A word, quoted where a shell would need it. Untrusted characters are escaped later.
fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_alphanumeric() || "-_./:=,+@%^".contains(char) || !char.is_ascii();
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        let words = ["ls", "-lR", "a b", "", "it's", "--x=1", "$HOME", "größe"];
        let expected = ["ls", "-lR", "'a b'", "''", "'it'\\''s'", "--x=1", "'$HOME'", "größe"];
        assert_eq!(words.map(quoted), expected);
    }
}
