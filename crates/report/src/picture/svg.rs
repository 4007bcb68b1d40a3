//! A picture as SVG: standalone, without scripts or external resources.

use super::shapes::{Anchor, PAPER, Picture, Shape};
use crate::clean::xml;
use std::fmt::Write;

/// The picture as an SVG document.
pub(crate) fn draw(picture: &Picture) -> String {
    let (width, height) = (picture.width, picture.height);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"DejaVu Sans Mono, monospace\" font-size=\"13\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#{PAPER:06x}\"/>\n"
    );
    for shape in &picture.shapes {
        // Writing to a string cannot fail.
        let _ = match shape {
            Shape::Rect { x, y, width, height, colour } => {
                writeln!(
                    svg,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"#{colour:06x}\"/>"
                )
            }
            Shape::Line { points, colour, width } => {
                let points: Vec<_> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
                let points = points.join(" ");
                writeln!(
                    svg,
                    "<polyline points=\"{points}\" fill=\"none\" stroke=\"#{colour:06x}\" stroke-width=\"{width}\"/>"
                )
            }
            Shape::Dot { x, y, radius, colour } => {
                writeln!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"#{colour:06x}\"/>")
            }
            Shape::Text { x, y, anchor, bold, colour, text } => {
                let anchor = match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                let weight = if *bold { " font-weight=\"bold\"" } else { "" };
                let text = xml(text);
                writeln!(
                    svg,
                    "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"#{colour:06x}\"{weight}>{text}</text>"
                )
            }
        };
    }
    svg.push_str("</svg>\n");
    svg
}
