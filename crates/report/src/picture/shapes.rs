//! The shapes of a picture, their colours and their measures.

use crate::clean;

/// Pixels of a character, a line of text, and the margin.
pub(crate) const CHAR: i32 = 8;
pub(crate) const ROW: i32 = 22;
pub(crate) const MARGIN: i32 = 24;
/// The longest text; a longer one is cut and ends in dots.
const TEXT_MOST: usize = 120;

/// Colours as 0xRRGGBB, from a set that is distinct for the colour-blind too (Okabe and Ito).
pub(crate) const PAPER: u32 = 0xff_ff_ff;
pub(crate) const INK: u32 = 0x22_22_22;
pub(crate) const FAINT: u32 = 0x77_77_77;
pub(crate) const GRID: u32 = 0xdd_dd_dd;
pub(crate) const BLUE: u32 = 0x00_72_b2;
pub(crate) const ORANGE: u32 = 0xd5_5e_00;
pub(crate) const BLACK: u32 = 0x00_00_00;
pub(crate) const OTHERS: [u32; 5] = [0xe6_9f_00, 0x00_9e_73, 0xcc_79_a7, 0x56_b4_e9, 0xa0_90_00];

/// The point of a text that its position is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// One thing to draw.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    Rect {
        x: i32,
        y: i32,
        width: i32,
        height: i32,
        colour: u32,
    },
    Line {
        points: Vec<(i32, i32)>,
        colour: u32,
        width: u32,
    },
    /// A filled circle.
    Dot {
        x: i32,
        y: i32,
        radius: i32,
        colour: u32,
    },
    /// `y` is the baseline. The text is clean and ASCII.
    Text {
        x: i32,
        y: i32,
        anchor: Anchor,
        bold: bool,
        colour: u32,
        text: String,
    },
}

/// Shapes and the size of the paper.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Picture {
    pub(crate) width: i32,
    pub(crate) height: i32,
    pub(crate) shapes: Vec<Shape>,
}

impl Picture {
    /// An empty picture of this width, which grows downwards as rows are added.
    pub(crate) fn new(width: i32) -> Self {
        Self { width, height: MARGIN, shapes: Vec::new() }
    }

    /// Untrusted text is cleaned here.
    pub(crate) fn text(&mut self, x: i32, y: i32, anchor: Anchor, bold: bool, colour: u32, text: &str) {
        let text = crate::clean::fit(&clean(text, false), TEXT_MOST, false);
        self.shapes.push(Shape::Text { x, y, anchor, bold, colour, text });
    }

    /// A whisker from `lo` to `hi` along `y`, with a stroke at each end that is on the axis.
    pub(crate) fn whisker(&mut self, (lo, lo_is_on): (i32, bool), (hi, hi_is_on): (i32, bool), y: i32) {
        const HALF: i32 = 4;
        self.line(vec![(lo, y), (hi, y)], INK, 1);
        for (x, _) in [(lo, lo_is_on), (hi, hi_is_on)].into_iter().filter(|(_, is_on)| *is_on) {
            self.line(vec![(x, y - HALF), (x, y + HALF)], INK, 1);
        }
    }

    pub(crate) fn line(&mut self, points: Vec<(i32, i32)>, colour: u32, width: u32) {
        self.shapes.push(Shape::Line { points, colour, width });
    }

    /// The next row of text.
    pub(crate) fn row(&mut self, bold: bool, colour: u32, text: &str) {
        self.height += ROW;
        self.text(MARGIN, self.height, Anchor::Start, bold, colour, text);
    }
}

/// A text in lines that fit, at most `most` of them.
pub(crate) fn folded(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in clean(text, false).split(' ') {
        let last = lines.len() - 1;
        if lines[last].len() + word.len() + 1 > TEXT_MOST && !lines[last].is_empty() {
            lines.push(String::new());
        }
        let last = lines.len() - 1;
        let gap = if lines[last].is_empty() { "" } else { " " };
        lines[last] += &format!("{gap}{word}");
    }
    lines.truncate(most);
    lines
}
