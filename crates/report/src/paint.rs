//! Lines of styled text: the only way onto the page. Text is cleaned when it is added to a
//! [`Line`], so that no part of the page can miss it.

use crate::Look;
use crate::clean::{char_width, clean, fit, width};
use model::State;

/// Blanks between columns, and the indent of continued lines.
pub(crate) const GAP: usize = 2;

/// How a piece of text looks where colour is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    /// The most important text.
    Bold,
    /// Less important text.
    Dim,
    /// Text that qualifies the result.
    Warn,
    /// Text in a state's colour.
    Of(State),
    /// Text on a state's colour.
    On(State),
    /// An upper half block: one state above, another below.
    Halves(State, State),
}

/// A state's colour and its letter, for pages without colour. Of the 256 colours, those that have a
/// contrast of 4:1 on black and on white: nobody knows what a terminal has behind them.
pub(crate) fn mark(state: State) -> (u8, &'static str) {
    match state {
        State::Stopped => (98, "Z"),
        State::Kernel => (130, "K"),
        State::Fault => (64, "F"),
        State::Interrupt => (131, "I"),
        State::User => (29, "U"),
        State::Throttled => (133, "T"),
        State::Runqueue => (129, "R"),
        State::Disk => (27, "D"),
        State::Network => (31, "N"),
        State::Lock => (132, "L"),
        State::Pipe => (65, "P"),
        State::Sleep => (243, "."),
        State::Idle => (96, "i"),
        State::OtherWait => (62, "W"),
        State::Unexplained => (162, "?"),
    }
}

/// White: on all of these it has that contrast too.
const READABLE: u8 = 231;
/// Of what qualifies a result: no state's.
const WARNING: u8 = 161;

impl Ink {
    /// The parameters of the escape sequence that switches to this ink.
    fn codes(self) -> String {
        match self {
            Ink::Plain => String::new(),
            Ink::Bold => "1".into(),
            Ink::Dim => "2".into(),
            Ink::Warn => format!("1;38;5;{WARNING}"),
            Ink::Of(state) => format!("38;5;{}", mark(state).0),
            Ink::On(state) => format!("48;5;{};38;5;{}", mark(state).0, READABLE),
            Ink::Halves(upper, lower) => format!("38;5;{};48;5;{}", mark(upper).0, mark(lower).0),
        }
    }
}

/// One line of the page, or one paragraph of it before it is wrapped.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    look: Look,
    spans: Vec<(Ink, String)>,
    grid: Option<Grid>,
}

/// A table that is not laid out: in a document it stands for its lines.
#[derive(Debug, Clone)]
pub(crate) struct Grid {
    pub(crate) title: String,
    /// The head of each column, and whether it has figures.
    pub(crate) heads: Vec<(String, bool)>,
    /// Cells, clean; and whether it is the row for the rest.
    pub(crate) rows: Vec<(Vec<(Ink, String)>, bool)>,
}

impl Line {
    pub(crate) fn new(look: Look) -> Self {
        Line { look, spans: Vec::new(), grid: None }
    }

    /// A table in place of a line.
    pub(crate) fn of(look: Look, grid: Grid) -> Self {
        Line { look, spans: Vec::new(), grid: Some(grid) }
    }

    /// The table that it is.
    pub(crate) fn grid(&self) -> Option<&Grid> {
        self.grid.as_ref()
    }

    /// Its text; blanks that must not break are U+00A0.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (Ink, &str)> {
        self.spans.iter().map(|(ink, text)| (*ink, text.as_str()))
    }

    /// The line with cleaned `text` at its end.
    pub(crate) fn add(mut self, ink: Ink, text: &str) -> Self {
        self.push(ink, &clean(text, self.look.unicode));
        self
    }

    /// Adds text without breaks between its words when the line is wrapped: for a figure and its
    /// unit.
    pub(crate) fn glued(self, ink: Ink, text: &str) -> Self {
        let mut line = self;
        line.push(ink, &clean(text, line.look.unicode).replace(' ', GLUE));
        line
    }

    /// The line with blanks at its end, up to a column.
    pub(crate) fn pad_to(mut self, column: usize) -> Self {
        let missing = column.saturating_sub(self.width());
        self.push(Ink::Plain, &" ".repeat(missing));
        self
    }

    fn push(&mut self, ink: Ink, text: &str) {
        match self.spans.last_mut() {
            _ if text.is_empty() => {}
            Some((last, so_far)) if *last == ink => so_far.push_str(text),
            _ => self.spans.push((ink, text.to_owned())),
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.spans.iter().map(|(_, text)| width(text)).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The line cut to the page.
    pub(crate) fn cut(self) -> Self {
        let columns = self.look.columns();
        self.cut_to(columns)
    }

    /// The line cut to `columns`.
    pub(crate) fn cut_to(self, columns: usize) -> Self {
        let mut left = columns;
        if self.width() <= left {
            return self;
        }
        let mut line = Line::new(self.look);
        for (ink, text) in self.spans {
            let cut = fit(&text, left, self.look.unicode);
            left -= width(&cut);
            let whole = cut == text;
            line.push(ink, &cut);
            if !whole {
                break;
            }
        }
        line
    }

    /// The line as a paragraph: broken between words, further lines indented, words that are wider
    /// than the page broken anywhere; cut at [`PARAGRAPH`].
    pub(crate) fn wrap(self, indent: usize) -> Vec<Line> {
        self.cut_to(PARAGRAPH).wrap_whole(indent)
    }

    /// Wraps the line, however long it is: for text of dwell's own.
    pub(crate) fn wrap_whole(self, indent: usize) -> Vec<Line> {
        if self.is_empty() {
            return Vec::new();
        }
        let (look, columns) = (self.look, self.look.columns());
        if look.is_document() {
            return vec![self];
        }
        let chars: Vec<(Ink, char)> =
            self.spans.iter().flat_map(|(ink, text)| text.chars().map(|char| (*ink, char))).collect();
        let mut lines = Vec::new();
        let mut line = Line::new(look);
        let mut used = 0;
        // A word ends with the blank after it, and may have several inks.
        for word in chars.split_inclusive(|(_, char)| *char == ' ') {
            let wide: usize =
                word.iter().filter(|(_, char)| *char != ' ').map(|(_, char)| char_width(*char)).sum();
            let mut broken = wide > 0 && used > indent && used + wide > columns;
            for (ink, char) in word {
                if broken || (used + char_width(*char) > columns && *char != ' ') {
                    lines.push(std::mem::replace(&mut line, Line::new(look).pad_to(indent)));
                    used = indent;
                    broken = false;
                }
                line.push(*ink, char.encode_utf8(&mut [0; 4]));
                used += char_width(*char);
            }
        }
        lines.push(line);
        lines
    }

    /// The bytes for a terminal: no blanks at the end, colours reset where they end.
    pub(crate) fn render(&self) -> String {
        let mut spans = self.spans.clone();
        let blank = |ink: Ink| !self.look.colour || !matches!(ink, Ink::On(_));
        while let Some((_, text)) = spans.last_mut().filter(|(ink, _)| blank(*ink)) {
            text.truncate(text.trim_end_matches([' ', '\u{a0}']).len());
            if !text.is_empty() {
                break;
            }
            spans.pop();
        }
        let mut rendered = String::new();
        for (ink, text) in spans {
            let text = text.replace(GLUE, " ");
            match ink.codes() {
                codes if codes.is_empty() || !self.look.colour => rendered.push_str(&text),
                codes => rendered.push_str(&format!("\x1b[{codes}m{text}\x1b[0m")),
            }
        }
        rendered
    }
}

/// Columns of the longest paragraph but the manual's. Those of dwell are far shorter; an error of
/// another program may have any length.
const PARAGRAPH: usize = 600;

/// A blank without a line break; rendered as an ordinary one, so that copied text is plain.
const GLUE: &str = "\u{a0}";

/// A text of several lines (a caveat and its remedy), each a paragraph of its own after `lead`.
pub(crate) fn paragraphs(lead: Line, text: &str, indent: usize) -> Vec<Line> {
    let look = lead.look;
    let mut lead = Some(lead);
    let line = |part: &str| {
        let line = lead.take().unwrap_or_else(|| Line::new(look).pad_to(indent));
        line.add(Ink::Plain, part).wrap(indent)
    };
    text.lines().flat_map(line).collect()
}

/// Parts of a page, with an empty line between those that are not empty.
pub(crate) fn joined(parts: &[Vec<Line>]) -> String {
    let text = |part: &Vec<Line>| part.iter().map(|line| line.render() + "\n").collect::<String>();
    parts.iter().filter(|part| !part.is_empty()).map(text).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const LOOK: Look = Look { width: 40, colour: false, unicode: true, height: Look::HEIGHT };

    fn text(lines: &[Line]) -> Vec<String> {
        lines.iter().map(Line::render).collect()
    }

    #[test]
    fn each_state_has_its_own_colour_and_letter() {
        let marks: Vec<_> = State::ALL.into_iter().map(mark).collect();
        assert_eq!(marks.iter().map(|mark| mark.0).collect::<HashSet<_>>().len(), State::ALL.len());
        assert_eq!(marks.iter().map(|mark| mark.1).collect::<HashSet<_>>().len(), State::ALL.len());
    }

    /// Relative luminance of one of the 256 colours beyond the first 16 (WCAG 2).
    fn luminance(colour: u8) -> f64 {
        let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * u32::from(step) };
        let rgb = match colour {
            232.. => [8 + 10 * (u32::from(colour) - 232); 3],
            _ => [(colour - 16) / 36, (colour - 16) / 6 % 6, (colour - 16) % 6].map(level),
        };
        let linear = rgb
            .map(|value| f64::from(value) / 255.0)
            .map(|value| if value <= 0.039_28 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    #[test]
    fn colours_are_legible_on_black_and_on_white() {
        let colours = State::ALL.into_iter().map(|state| mark(state).0).chain([WARNING]);
        for colour in colours {
            let luminance = luminance(colour);
            let (on_white, on_black) = (1.05 / (luminance + 0.05), (luminance + 0.05) / 0.05);
            assert!(on_white >= 4.0 && on_black >= 4.0, "{colour}: {on_white:.2} and {on_black:.2}");
        }
        assert!(!State::ALL.into_iter().any(|state| mark(state).0 == WARNING));
    }

    #[test]
    fn a_paragraph_breaks_between_words_but_not_before_a_unit() {
        let line =
            Line::new(LOOK).add(Ink::Bold, "it took a rather long time of about ").glued(Ink::Dim, "12 ms");
        let lines = line.add(Ink::Plain, " in all").wrap(2);
        assert_eq!(text(&lines), ["it took a rather long time of about", "  12 ms in all"]);
    }

    #[test]
    fn blanks_before_what_is_wrapped_begin_no_line() {
        let line = Line::new(LOOK).add(Ink::Plain, &"x".repeat(39)).add(Ink::Plain, "   ");
        let lines = line.glued(Ink::Dim, "dwell explain").wrap(4);
        let texts: Vec<String> = lines.iter().map(Line::render).collect();
        assert_eq!(texts, ["x".repeat(39), "    dwell explain".to_owned()]);
    }

    #[test]
    fn a_word_wider_than_the_page_is_broken() {
        let lines = Line::new(LOOK).add(Ink::Plain, &format!("try: {}", "x".repeat(70))).wrap(2);
        assert!(lines.iter().all(|line| line.width() <= 40));
        assert_eq!(text(&lines).concat().matches('x').count(), 70);
    }

    #[test]
    fn colour_is_reset_where_it_ends_and_left_out_when_off() {
        let line = |look| Line::new(look).add(Ink::Bold, "a").add(Ink::Plain, "b\x1b[1m  ");
        assert_eq!(line(Look { colour: true, ..LOOK }).render(), "\x1b[1ma\x1b[0mb\\x1b[1m");
        assert_eq!(line(LOOK).render(), "ab\\x1b[1m");
    }

    #[test]
    fn a_line_is_cut_to_the_page() {
        let line = Line::new(LOOK).add(Ink::Bold, &"a".repeat(30)).add(Ink::Plain, &"b".repeat(30)).cut();
        assert_eq!(line.width(), 40);
        assert!(line.render().ends_with("b…"));
    }
}
