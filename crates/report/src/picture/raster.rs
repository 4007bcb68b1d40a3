//! A picture as PNG: anti-aliased, at two pixels a unit, with the font in `fonts/`. It needs no
//! font of the system, and is the same on all machines.
//!
//! It is drawn in bands that are written one after another, so that a long picture takes no more
//! memory than a short one.

use super::shapes::{Anchor, PAPER, Picture, Shape};
use tiny_skia::{Color, FillRule, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, Transform};
use ttf_parser::{Face, OutlineBuilder};

/// Pixels of a unit of the picture.
pub(crate) const SCALE: u32 = 2;
/// Dots of a metre: 96 units an inch, as in SVG.
const PER_METRE: u32 = 3_780 * SCALE;
/// Units of a band.
const BAND: i32 = 128;
/// The size of the font, in units.
const FONT: f32 = 13.0;

static BOOK: &[u8] = include_bytes!("../../fonts/DejaVuSansMono.ttf");
static BOLD: &[u8] = include_bytes!("../../fonts/DejaVuSansMono-Bold.ttf");

/// The picture as the bytes of a PNG file.
pub(crate) fn draw(picture: &Picture) -> Vec<u8> {
    let (width, height) = (picture.width.max(1), picture.height.max(1));
    let fonts = [BOOK, BOLD].map(|bytes| Face::parse(bytes, 0).expect("the font is compiled in"));
    let shapes: Vec<Inked> = picture.shapes.iter().filter_map(|shape| Inked::of(shape, &fonts)).collect();
    let mut bytes = Vec::new();
    // Only a failing writer, or rows that are too few or too many, could fail; there is neither.
    write(&mut bytes, &shapes, width, height).expect("pixels in memory can be written to memory");
    bytes
}

fn write(bytes: &mut Vec<u8>, shapes: &[Inked], width: i32, height: i32) -> Result<(), png::EncodingError> {
    let [wide, high] = [width, height].map(|units| units as u32 * SCALE);
    let mut encoder = png::Encoder::new(bytes, wide, high);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let unit = png::Unit::Meter;
    encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: PER_METRE, yppu: PER_METRE, unit }));
    let mut writer = encoder.write_header()?;
    let mut rows = writer.stream_writer()?;
    for top in (0..height).step_by(BAND as usize) {
        let units = BAND.min(height - top);
        let mut band = Pixmap::new(wide, units as u32 * SCALE).expect("a band is small, and not empty");
        band.fill(colour(PAPER));
        let at = Transform::from_translate(0.0, -top as f32).post_scale(SCALE as f32, SCALE as f32);
        let (from, to) = (top as f32, (top + units) as f32);
        let within = |inked: &&Inked| inked.bounds.bottom() >= from && inked.bounds.top() <= to;
        shapes.iter().filter(within).for_each(|inked| inked.draw(&mut band, at));
        // All is opaque, so that they are as PNG has them.
        std::io::Write::write_all(&mut rows, band.data())?;
    }
    rows.finish()
}

fn colour(rgb: u32) -> Color {
    let [_, red, green, blue] = rgb.to_be_bytes();
    Color::from_rgba8(red, green, blue, 255)
}

/// A shape as a path, in units.
struct Inked {
    path: Path,
    /// How wide a line is; none for an area.
    line: Option<f32>,
    colour: u32,
    /// All that it covers.
    bounds: Rect,
}

impl Inked {
    /// None of what has no extent.
    fn of(shape: &Shape, fonts: &[Face<'_>; 2]) -> Option<Self> {
        let (path, line, colour) = match shape {
            Shape::Rect { x, y, width, height, colour } => {
                let [x, y, width, height] = [x, y, width, height].map(|units| *units as f32);
                (PathBuilder::from_rect(Rect::from_xywh(x, y, width, height)?), None, *colour)
            }
            Shape::Line { points, colour, width } => {
                let mut path = PathBuilder::new();
                for (at, (x, y)) in points.iter().enumerate() {
                    let (x, y) = (*x as f32, *y as f32);
                    if at == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
                }
                (path.finish()?, Some(*width as f32), *colour)
            }
            Shape::Dot { x, y, radius, colour } => {
                let [x, y, radius] = [x, y, radius].map(|units| *units as f32);
                (PathBuilder::from_circle(x, y, radius)?, None, *colour)
            }
            Shape::Text { x, y, anchor, bold, colour, text } => {
                (outline(&fonts[usize::from(*bold)], (*x, *y), *anchor, text)?, None, *colour)
            }
        };
        let around = line.unwrap_or(0.0);
        let bounds = path.bounds().outset(around, around)?;
        Some(Self { path, line, colour, bounds })
    }

    fn draw(&self, band: &mut Pixmap, at: Transform) {
        let mut paint = Paint::default();
        paint.set_color(colour(self.colour));
        match self.line {
            Some(width) => {
                let stroke = Stroke { width, ..Stroke::default() };
                band.stroke_path(&self.path, &paint, &stroke, at, None);
            }
            None => band.fill_path(&self.path, &paint, FillRule::Winding, at, None),
        }
    }
}

/// The outline of a text whose baseline is at this point. None of one that is blank.
fn outline(font: &Face<'_>, at: (i32, i32), anchor: Anchor, text: &str) -> Option<Path> {
    let scale = FONT / f32::from(font.units_per_em());
    let glyphs: Vec<_> = text.chars().filter_map(|char| font.glyph_index(char)).collect();
    let advances = glyphs.iter().map(|glyph| font.glyph_hor_advance(*glyph).unwrap_or(0));
    let wide: f32 = advances.map(|advance| f32::from(advance) * scale).sum();
    let x = at.0 as f32
        - match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => wide / 2.0,
            Anchor::End => wide,
        };
    let mut pen = Pen { path: PathBuilder::new(), x, y: at.1 as f32, scale };
    for glyph in glyphs {
        // A blank has no outline.
        let _ = font.outline_glyph(glyph, &mut pen);
        pen.x += f32::from(font.glyph_hor_advance(glyph).unwrap_or(0)) * scale;
    }
    pen.path.finish()
}

/// Takes the outlines of glyphs, in units of the font and upwards, to where they are drawn.
struct Pen {
    path: PathBuilder,
    x: f32,
    y: f32,
    scale: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, self.y - y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{INK, MARGIN};

    #[test]
    fn every_character_of_a_picture_is_in_both_fonts() {
        for bytes in [BOOK, BOLD] {
            let font = Face::parse(bytes, 0).unwrap();
            let missing: String = (' '..='~').filter(|char| font.glyph_index(*char).is_none()).collect();
            assert_eq!(missing, "");
            // No wider than what pictures leave for a character.
            let advance = font.glyph_hor_advance(font.glyph_index('m').unwrap()).unwrap();
            let wide = f32::from(advance) * FONT / f32::from(font.units_per_em());
            assert!(wide <= crate::picture::CHAR as f32, "{wide}");
        }
    }

    /// The pixels of a picture, four bytes each, and the width of a row.
    fn pixels(picture: &Picture) -> (Vec<u8>, usize) {
        let bytes = draw(picture);
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut pixels).unwrap();
        (pixels, frame.width as usize)
    }

    #[test]
    fn what_crosses_a_band_is_whole() {
        let mut picture = Picture::new(40);
        picture.height = 3 * BAND;
        picture.line(vec![(20, 0), (20, 3 * BAND)], INK, 1);
        let (pixels, wide) = pixels(&picture);
        let at = |x: usize, y: usize| &pixels[(y * wide + x) * 4..][..3];
        for y in 0..(3 * BAND as u32 * SCALE) as usize {
            assert_eq!([at(38, y), at(39, y), at(40, y)], [[255; 3], [0x22; 3], [0x22; 3]], "{y}");
        }
    }

    #[test]
    fn text_ends_where_it_is_anchored() {
        let mut picture = Picture::new(400);
        picture.height = 2 * MARGIN;
        picture.text(200, MARGIN, Anchor::End, true, INK, "wake-up");
        let (pixels, wide) = pixels(&picture);
        let inked: Vec<usize> = pixels
            .chunks(4)
            .enumerate()
            .filter(|(_, pixel)| **pixel != [255; 4])
            .map(|(at, _)| at % wide)
            .collect();
        let (first, last) = (inked.iter().min().unwrap() / 2, inked.iter().max().unwrap() / 2);
        assert!((143..148).contains(&first) && (196..200).contains(&last), "{first} to {last}");
    }
}
