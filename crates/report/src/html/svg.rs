//! Pictures in a page: those of shapes, with classes in place of colours, so that they follow the
//! theme; and bars of parts.

use super::escape::markup;
use crate::picture::{Anchor, BLACK, BLUE, FAINT, GRID, INK, ORANGE, OTHERS, Picture, Shape};
use model::Ns;
use std::fmt::Write;

/// Width of a plot over time: of any unit, since plots are stretched to the page.
pub(super) const WIDE: u64 = 10_000;

/// Where a time is on the axis.
pub(super) fn along(at: Ns, wall_ns: Ns) -> u64 {
    (u128::from(at.min(wall_ns)) * u128::from(WIDE) / u128::from(wall_ns.max(1))) as u64
}

/// A picture of shapes. `label` says what it shows: it is untrusted where it has names.
pub(super) fn picture(picture: &Picture, label: &str) -> String {
    let (width, height) = (picture.width, picture.height);
    let mut svg = format!(
        "<div class=\"scroll\" role=\"group\" aria-label=\"picture\"><svg class=\"picture\" role=\"img\" \
         aria-label=\"{}\" viewBox=\"0 0 {width} {height}\">\n",
        super::escape::text(label)
    );
    for shape in &picture.shapes {
        // Writing to a string cannot fail.
        let _ = match shape {
            Shape::Rect { x, y, width, height, colour } => {
                let class = class(*colour);
                writeln!(
                    svg,
                    "<rect class=\"f {class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
                )
            }
            Shape::Line { points, colour, width } => {
                let points: Vec<_> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
                let (class, points) = (class(*colour), points.join(" "));
                writeln!(svg, "<polyline class=\"l {class}\" stroke-width=\"{width}\" points=\"{points}\"/>")
            }
            Shape::Dot { x, y, radius, colour } => {
                let class = class(*colour);
                writeln!(svg, "<circle class=\"f {class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>")
            }
            Shape::Text { x, y, anchor, bold, colour, text } => {
                let anchor = match anchor {
                    Anchor::Start => "",
                    Anchor::Middle => " text-anchor=\"middle\"",
                    Anchor::End => " text-anchor=\"end\"",
                };
                let bold = if *bold { " bold" } else { "" };
                let (class, text) = (class(*colour), markup(text));
                writeln!(svg, "<text class=\"f {class}{bold}\" x=\"{x}\" y=\"{y}\"{anchor}>{text}</text>")
            }
        };
    }
    svg.push_str("</svg></div>\n");
    svg
}

/// The class of a colour of pictures.
fn class(colour: u32) -> &'static str {
    const OF_OTHERS: [&str; 5] = ["p-amber", "p-green", "p-pink", "p-sky", "p-olive"];
    match colour {
        INK | BLACK => "p-ink",
        FAINT => "p-faint",
        GRID => "p-grid",
        BLUE => "p-blue",
        ORANGE => "p-orange",
        0xcc_00_00 => "p-red",
        other => OTHERS.iter().position(|one| *one == other).map_or("p-grey", |at| OF_OTHERS[at]),
    }
}

/// A part of a bar: its share (0 to 1), its class, and its text, which is shown where there is
/// room.
pub(super) struct BarPart {
    pub(super) share: f64,
    pub(super) class: String,
    pub(super) text: String,
}

/// Parts in a row as wide as the page.
pub(super) fn bar(parts: &[BarPart], label: &str) -> String {
    let mut svg = format!(
        "<svg class=\"bar\" role=\"img\" aria-label=\"{}\" width=\"100%\" height=\"36\">",
        markup(label)
    );
    let mut at = 0.0;
    for part in parts {
        let (x, width) = (at * 100.0, part.share * 100.0);
        at += part.share;
        // A character takes 0.9 % of a page as wide as a screen, and 2.4 % of a phone's.
        let wide = part.text.chars().count() as f64;
        let class = if wide * 0.024 <= part.share { "" } else { " class=\"wide\"" };
        let text = match wide * 0.009 <= part.share {
            true => format!("<text{class} x=\"8\" y=\"23\">{}</text>", markup(&part.text)),
            false => String::new(),
        };
        let title = markup(&part.text);
        let _ = write!(
            svg,
            "<svg x=\"{x:.3}%\" width=\"{width:.3}%\" height=\"36\"><title>{title}</title><rect class=\"{}\" \
             width=\"100%\" height=\"36\"/>{text}</svg>",
            part.class
        );
    }
    svg.push_str("</svg>\n");
    svg
}
