//! Untrusted text, made safe to print.
//!
//! The measured program chooses process names, arguments, paths and error texts. Printed raw they
//! could move the cursor, recolour the terminal, reverse the reading direction or imitate a line of
//! dwell. Everything on a page goes through [`clean`]; nothing here knows the meaning of the text.

use std::fmt::Write;
use unicode_width::UnicodeWidthChar;

/// Combining marks allowed on one character. Decomposed accents need one or two; more of them reach
/// into the lines above and below.
const MARKS_MAX: usize = 2;

/// `text` with every character that is not plainly visible written as an escape: control characters
/// as `\n`, `\t` or `\x1b`, Unicode's invisible and direction-changing ones as `\u{202e}`. Without
/// `unicode`, so is everything outside ASCII. Cleaning clean text changes nothing.
pub fn clean(text: &str, unicode: bool) -> String {
    let mut cleaned = String::with_capacity(text.len());
    // A mark at the very start would combine with the text before it.
    let mut marks = MARKS_MAX;
    for char in text.chars() {
        let mark = char.width() == Some(0);
        marks = if mark { marks + 1 } else { 0 };
        if invisible(char) || (!char.is_ascii() && !unicode) || (mark && marks > MARKS_MAX) {
            escape(char, &mut cleaned);
        } else {
            cleaned.push(char);
        }
    }
    cleaned
}

/// Text of several lines, each cleaned to ASCII.
pub fn clean_lines(text: &str) -> String {
    text.lines().map(|line| clean(line, false)).collect::<Vec<_>>().join("\n")
}

fn escape(char: char, into: &mut String) {
    // Writing to a string cannot fail.
    let _ = match char {
        '\n' => into.write_str("\\n"),
        '\r' => into.write_str("\\r"),
        '\t' => into.write_str("\\t"),
        '\0'..='\u{ff}' => write!(into, "\\x{:02x}", u32::from(char)),
        _ => write!(into, "\\u{{{:x}}}", u32::from(char)),
    };
}

/// Text escaped for XML, within quotes and outside. Characters that XML 1.0 excludes, and control
/// characters of terminals, are replaced.
pub(crate) fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\n' => escaped.push_str("&#10;"),
            char if invisible(char) => escaped.push('\u{fffd}'),
            char => escaped.push(char),
        }
    }
    escaped
}

/// Whether a terminal acts on a character instead of showing it: C0, DEL, C1; format characters
/// (category Cf: bidi marks, embeddings, overrides and isolates, joiners, tags); line and paragraph
/// separators; fillers and variation selectors; noncharacters.
pub(crate) fn invisible(char: char) -> bool {
    matches!(char,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}'
        | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}'
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1345f}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || u32::from(char) & 0xfffe == 0xfffe
}

/// Columns of cleaned text on a terminal, as counted by `wcwidth`: character by character.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

pub(crate) fn char_width(char: char) -> usize {
    char.width().unwrap_or(0)
}

/// Cleaned text cut to at most `columns`, with an ellipsis where it was cut.
pub(crate) fn fit(text: &str, columns: usize, unicode: bool) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let sign = if unicode { "…" } else { ".." };
    let mut fitted = String::new();
    let mut left = columns.saturating_sub(width(sign));
    for char in text.chars() {
        let Some(rest) = left.checked_sub(char_width(char)) else { break };
        left = rest;
        fitted.push(char);
    }
    fitted.push_str(&sign[..if columns >= width(sign) { sign.len() } else { 0 }]);
    fitted
}

/// The same for text with a path, whose end matters most: leading directories are left out first.
pub(crate) fn fit_end(text: &str, columns: usize, unicode: bool) -> String {
    let Some((lead, path)) = text.split_once('/').filter(|_| width(text) > columns) else {
        return fit(text, columns, unicode);
    };
    let sign = if unicode { "…" } else { ".." };
    // A path that is cut already has its ellipsis.
    let lead = lead.trim_end_matches(sign);
    let ends = path.match_indices('/').map(|(at, _)| format!("{lead}{sign}{}", &path[at..]));
    let mut ends = ends.skip_while(|end| width(end) > columns);
    let last = || format!("{lead}{sign}/{}", path.trim_end_matches('/').rsplit('/').next().unwrap_or(path));
    ends.next().unwrap_or_else(|| fit(&last(), columns, unicode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        for (raw, shown) in [
            ("ls -l", "ls -l"),
            ("\x1b[2J\x1b]0;owned\x07", "\\x1b[2J\\x1b]0;owned\\x07"),
            ("a\nb\r\tc", "a\\nb\\r\\tc"),
            ("\u{9b}31m\u{7f}\u{85}", "\\x9b31m\\x7f\\x85"),
            ("cod\u{202e}gpj.exe\u{2069}", "cod\\u{202e}gpj.exe\\u{2069}"),
            ("a\u{200b}b\u{feff}c\u{200d}d", "a\\u{200b}b\\u{feff}c\\u{200d}d"),
            ("line\u{2028}separator\u{e0041}", "line\\u{2028}separator\\u{e0041}"),
            ("soft\u{ad}hyphen\u{fe0f}\u{3164}", "soft\\xadhyphen\\u{fe0f}\\u{3164}"),
            ("naïve 日本 e\u{301}", "naïve 日本 e\u{301}"),
            ("\u{301}first", "\\u{301}first"),
            ("z\u{301}\u{301}\u{301}\u{301}", "z\u{301}\u{301}\\u{301}\\u{301}"),
        ] {
            assert_eq!(clean(raw, true), shown);
            assert_eq!(clean(shown, true), shown, "cleaning twice");
        }
        assert_eq!(clean("naïve 日", false), "na\\xefve \\u{65e5}");
    }

    #[test]
    fn every_character_of_unicode_is_shown_or_escaped() {
        for char in ('\0'..=char::MAX).filter(|char| char.is_control() || char.width().is_none()) {
            assert!(clean(&char.to_string(), true).starts_with('\\'), "{:x}", u32::from(char));
        }
        assert!(('\0'..=char::MAX).all(|char| clean(&char.to_string(), false).is_ascii()));
        assert!(('\0'..=char::MAX).all(|char| width(&clean(&char.to_string(), true)) > 0));
    }

    #[test]
    fn the_end_of_a_path_is_kept() {
        assert_eq!(fit_end("file /usr/lib/x/y.so", 20, true), "file /usr/lib/x/y.so");
        assert_eq!(fit_end("file /usr/lib/x/y.so", 18, true), "file …/lib/x/y.so");
        assert_eq!(fit_end("file /usr/lib/x/y.so", 12, true), "file …/y.so");
        assert_eq!(fit_end("file /usr/lib/x/y.so", 9, true), "file …/y…");
        assert_eq!(fit_end("file …/lib/x/y.so", 14, true), "file …/x/y.so");
        assert_eq!(fit_end("file /usr/lib/x/y.so", 13, false), "file ../y.so");
        assert_eq!(fit_end("no path at all", 5, true), "no p…");
    }

    #[test]
    fn text_is_cut_by_columns_not_characters() {
        assert_eq!(fit("abcdef", 6, true), "abcdef");
        assert_eq!(fit("abcdef", 4, true), "abc…");
        assert_eq!(fit("abcdef", 4, false), "ab..");
        assert_eq!(fit("日本語", 6, true), "日本語");
        assert_eq!(fit("日本語", 5, true), "日本…");
        assert_eq!(fit("日本語", 4, true), "日…");
        assert_eq!(fit("abc", 1, true), "…");
        assert_eq!(fit("abc", 1, false), "");
        assert_eq!(fit("abc", 0, true), "");
    }
}
