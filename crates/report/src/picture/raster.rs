//! A picture as PNG, drawn with bitmap fonts: it needs no font of the system, and is the same on
//! all machines.

use super::shapes::{Anchor, CHAR, PAPER, Picture, Shape};
use embedded_graphics::mono_font::MonoTextStyle;
use embedded_graphics::mono_font::ascii::{FONT_8X13, FONT_8X13_BOLD};
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::*;
use embedded_graphics::primitives::{Line, PrimitiveStyle, Rectangle};
use embedded_graphics::text::Text;
use std::convert::Infallible;

/// The picture as the bytes of a PNG file.
pub(crate) fn draw(picture: &Picture) -> Vec<u8> {
    let mut canvas = Canvas::new(picture.width.max(1) as u32, picture.height.max(1) as u32);
    for shape in &picture.shapes {
        canvas.shape(shape);
    }
    canvas.png()
}

struct Canvas {
    width: u32,
    height: u32,
    /// Three bytes a pixel, row by row.
    pixels: Vec<u8>,
}

fn colour(rgb: u32) -> Rgb888 {
    Rgb888::new((rgb >> 16) as u8, (rgb >> 8) as u8, rgb as u8)
}

impl Canvas {
    fn new(width: u32, height: u32) -> Self {
        let paper = colour(PAPER);
        let pixels = [paper.r(), paper.g(), paper.b()].repeat((width * height) as usize);
        Self { width, height, pixels }
    }

    fn shape(&mut self, shape: &Shape) {
        let Ok(()) = match shape {
            Shape::Rect { x, y, width, height, colour: fill } => {
                let size = Size::new((*width).max(0) as u32, (*height).max(0) as u32);
                let style = PrimitiveStyle::with_fill(colour(*fill));
                Rectangle::new(Point::new(*x, *y), size).into_styled(style).draw(self)
            }
            Shape::Line { points, colour: stroke, width } => {
                let mut ends = points.windows(2);
                ends.try_for_each(|ends| self.segment(ends[0], ends[1], colour(*stroke), *width))
            }
            Shape::Text { x, y, anchor, bold, colour: fill, text } => {
                let wide = text.len() as i32 * CHAR;
                let x = match anchor {
                    Anchor::Start => *x,
                    Anchor::Middle => x - wide / 2,
                    Anchor::End => x - wide,
                };
                let font = if *bold { &FONT_8X13_BOLD } else { &FONT_8X13 };
                Text::new(text, Point::new(x, *y), MonoTextStyle::new(font, colour(*fill)))
                    .draw(self)
                    .map(drop)
            }
        };
    }

    /// From one point of a line to the next. Each is drawn alone: the joints of a polyline overflow
    /// where it is long and nearly straight.
    fn segment(
        &mut self,
        from: (i32, i32),
        to: (i32, i32),
        stroke: Rgb888,
        width: u32,
    ) -> Result<(), Infallible> {
        if from.0 != to.0 && from.1 != to.1 {
            let line = Line::new(Point::new(from.0, from.1), Point::new(to.0, to.1));
            return line.into_styled(PrimitiveStyle::with_stroke(stroke, width)).draw(self);
        }
        let half = width as i32 / 2;
        let corner = Point::new(from.0.min(to.0) - half, from.1.min(to.1) - half);
        let size = Size::new(from.0.abs_diff(to.0) + width, from.1.abs_diff(to.1) + width);
        Rectangle::new(corner, size).into_styled(PrimitiveStyle::with_fill(stroke)).draw(self)
    }

    fn png(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&self.pixels));
        // Only a failing writer, or a size other than that of the pixels, could fail; there is
        // neither.
        written.expect("pixels in memory can be written to memory");
        bytes
    }
}

impl OriginDimensions for Canvas {
    fn size(&self) -> Size {
        Size::new(self.width, self.height)
    }
}

impl DrawTarget for Canvas {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        for Pixel(at, colour) in pixels {
            let inside = (0..self.width as i32).contains(&at.x) && (0..self.height as i32).contains(&at.y);
            if inside {
                let first = (at.y as usize * self.width as usize + at.x as usize) * 3;
                self.pixels[first..first + 3].copy_from_slice(&[colour.r(), colour.g(), colour.b()]);
            }
        }
        Ok(())
    }
}
