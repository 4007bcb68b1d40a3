//! The page of the lab's score.

use super::{blocks, svg};
use crate::Look;
use crate::lab::score_parts;
use crate::picture::{Anchor, BLUE, CHAR, FAINT, GRID, INK, MARGIN, ORANGE, Picture, ROW, Shape};
use model::lab::LabScore;

/// Where the axis of savings begins, and its width.
const LEFT: i32 = MARGIN + 22 * CHAR;
const WIDE: i32 = 720;

/// The score.
pub(super) fn article(score: &LabScore, number: usize) -> String {
    let [totals, table, rest] = score_parts(score, Look::DOCUMENT);
    let host = &score.host;
    let place = format!("{} on {}: Linux {} {}", score.started_at, host.name, host.kernel, host.arch);
    let label = "predicted and measured savings of each pair; their figures are in the table";
    let drawn = svg::picture(&savings(score), label);
    let sections = blocks::sections(&[
        ("Predicted and measured savings", drawn + &blocks::paragraph("dim", &place)),
        ("Each pair", blocks::lines(&table) + &blocks::lines(&rest)),
    ]);
    blocks::article(number, "dwell lab --score", &totals, &sections)
}

/// Of each sitting the predicted interval as a bar, and the measured one as a line with a dot.
fn savings(score: &LabScore) -> Picture {
    let mut picture = Picture::new(LEFT + WIDE + 4 * MARGIN);
    picture.height += ROW;
    let legend = "blue: predicted saving; orange: measured saving with its interval; % of the wall clock";
    picture.text(LEFT, picture.height, Anchor::Start, true, INK, legend);
    let x = |share: f64| LEFT + (share.clamp(0.0, 1.0) * f64::from(WIDE)).round() as i32;
    let top = picture.height + ROW / 2;
    let mut y = top;
    let mut shapes = Vec::new();
    let mut names = Vec::new();
    for row in score.rows.iter().filter(|row| row.pair.cause.is_some() && !row.sittings.is_empty()) {
        y += ROW / 2;
        names.push((y + 10, row.pair.name.clone()));
        for sitting in &row.sittings {
            y += 10;
            if let Some(predicted) = sitting.outcome.predicted {
                let (lo, hi) = (x(predicted.lo), x(predicted.hi));
                shapes.push(Shape::Rect {
                    x: lo,
                    y: y - 4,
                    width: (hi - lo).max(2),
                    height: 8,
                    colour: BLUE,
                });
            }
            if let Some(saved) = sitting.saved.first().copied().flatten() {
                let points = vec![(x(saved.lo), y), (x(saved.hi), y)];
                shapes.push(Shape::Line { points, colour: ORANGE, width: 2 });
                shapes.push(Shape::Rect {
                    x: x(saved.estimate) - 3,
                    y: y - 3,
                    width: 6,
                    height: 6,
                    colour: ORANGE,
                });
            }
        }
        y += ROW / 2;
    }
    for percent in (0..=100).step_by(20) {
        let at = x(f64::from(percent) / 100.0);
        picture.line(vec![(at, top), (at, y)], GRID, 1);
        picture.text(at, y + ROW - 4, Anchor::Middle, false, FAINT, &format!("{percent} %"));
    }
    for (y, name) in names {
        picture.text(LEFT - CHAR, y, Anchor::End, false, INK, &name);
    }
    picture.shapes.extend(shapes);
    picture.height = y + 2 * ROW;
    picture
}
