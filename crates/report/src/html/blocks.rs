//! HTML of the lines and tables of the pages for a terminal.

use super::escape::{self, markup};
use crate::paint::{Grid, Ink, Line};
use model::State;
use std::fmt::Write;

/// Tables with this many rows can be filtered.
const FILTERED_FROM: usize = 8;

/// A result: a title, the lines below it, and its sections.
pub(super) fn article(number: usize, title: &str, lead: &[Line], sections: &str) -> String {
    let lead: String = lead.iter().map(|one| format!("<p class=\"lead\">{}</p>\n", line(one))).collect();
    format!(
        "<article data-result=\"{number}\">\n<header>\n<h1>{title}</h1>\n{lead}</header>\n{sections}</article>\n"
    )
}

/// The same where the first of these lines is the title.
pub(super) fn titled(number: usize, head: &[Line], sections: &str) -> String {
    let (title, lead) = head.split_first().map_or((String::new(), head), |(first, rest)| (line(first), rest));
    article(number, &title, lead, sections)
}

/// Sections with their headings, without those that are empty.
pub(super) fn sections(sections: &[(&str, String)]) -> String {
    let full = sections.iter().filter(|(_, body)| !body.is_empty());
    full.map(|(heading, body)| format!("<section>\n<h2>{heading}</h2>\n{body}</section>\n")).collect()
}

/// Each line as a paragraph, each table as a table.
pub(super) fn lines(lines: &[Line]) -> String {
    lines.iter().map(block).collect()
}

fn block(one: &Line) -> String {
    match one.grid() {
        Some(grid) => table(grid),
        None if one.is_empty() => String::new(),
        None => format!("<p>{}</p>\n", line(one)),
    }
}

/// The text of a line, with its inks.
pub(super) fn line(line: &Line) -> String {
    let html: String = line.spans().map(|(ink, text)| span(ink, text)).collect();
    html.trim().to_owned()
}

/// A text of its own, which is not clean.
pub(super) fn paragraph(class: &str, text: &str) -> String {
    format!("<p class=\"{class}\">{}</p>\n", escape::text(text))
}

/// Clean text in an ink.
fn span(ink: Ink, clean: &str) -> String {
    let text = markup(clean);
    match ink {
        Ink::Plain => text,
        Ink::Bold => format!("<b>{text}</b>"),
        Ink::Dim => format!("<span class=\"dim\">{text}</span>"),
        Ink::Warn => format!("<strong class=\"warn\">{text}</strong>"),
        Ink::Of(state) | Ink::Halves(state, _) => {
            format!("<span class=\"t-{}\">{text}</span>", state.name())
        }
        Ink::On(state) => format!("<span class=\"on s-{}\">{text}</span>", state.name()),
    }
}

/// A mark in the colour of a state.
pub(super) fn swatch(state: State) -> String {
    format!(
        "<svg class=\"swatch\" aria-hidden=\"true\" width=\"10\" height=\"10\"><rect class=\"s-{}\" width=\"10\" \
         height=\"10\" rx=\"2\"/></svg>",
        state.name()
    )
}

/// A table; its title is the head of its first column, as on a terminal.
pub(super) fn table(grid: &Grid) -> String {
    let title = markup(&grid.title);
    let filter = if grid.rows.len() >= FILTERED_FROM { " data-filter" } else { "" };
    let mut html = format!(
        "<div class=\"scroll\" role=\"group\" aria-label=\"{title}\"><table class=\"data\"{filter}>\n<thead><tr>"
    );
    for (at, (head, figures)) in grid.heads.iter().enumerate() {
        let head = match (at, head.as_str()) {
            (0, _) => title.clone(),
            (_, "") => "<span class=\"vh\">verdict</span>".to_owned(),
            (_, head) => markup(head),
        };
        let class = if *figures { " class=\"n\"" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(html, "<th scope=\"col\"{class}>{head}</th>");
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for (cells, _) in grid.rows.iter().filter(|(_, rest)| !rest) {
        row(&mut html, grid, cells);
    }
    html.push_str("</tbody>\n");
    if grid.rows.iter().any(|(_, rest)| *rest) {
        html.push_str("<tfoot>\n");
        for (cells, _) in grid.rows.iter().filter(|(_, rest)| *rest) {
            row(&mut html, grid, cells);
        }
        html.push_str("</tfoot>\n");
    }
    html.push_str("</table></div>\n");
    html
}

fn row(html: &mut String, grid: &Grid, cells: &[(Ink, String)]) {
    html.push_str("<tr>");
    for (at, ((ink, text), (_, figures))) in cells.iter().zip(&grid.heads).enumerate() {
        let text = crate::clean::fit(text, CELL, true);
        let (open, close) = if at == 0 { ("th scope=\"row\"", "th") } else { ("td", "td") };
        let long = || text.split_whitespace().any(|word| word.chars().count() > LONG);
        let class = match figures {
            true => " class=\"n\"",
            false if long() => " class=\"long\"",
            false => "",
        };
        let mark = match ink {
            Ink::Of(state) if at == 0 => swatch(*state),
            _ => String::new(),
        };
        let text = match text.contains(BLOCKS) {
            true => format!("<span class=\"blocks\">{}</span>", span(*ink, &text)),
            false => span(*ink, &text),
        };
        // A mark stays with its text.
        let text = if mark.is_empty() { text } else { format!("<span class=\"state\">{mark}{text}</span>") };
        let _ = write!(html, "<{open}{class}>{text}</{close}>");
    }
    html.push_str("</tr>\n");
}

/// Characters of bars, which are as wide as each other in one font only.
const BLOCKS: [char; 4] = ['█', '▌', '▐', '│'];
/// A word of more characters is broken where it must be.
const LONG: usize = 24;
/// Columns of the longest cell.
const CELL: usize = 240;
