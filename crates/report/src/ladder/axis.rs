//! The logarithmic axis from 0.1 ns to 1 s, in character cells.

use crate::Look;
use crate::clean::width;
use crate::paint::{Ink, Line};

/// Ends of the axis, as powers of ten of a nanosecond.
const FIRST: f64 = -1.0;
const LAST: f64 = 9.0;
/// The labels of the powers of ten.
const LABELS: [&str; 11] =
    ["0.1ns", "1ns", "10ns", "100ns", "1us", "10us", "100us", "1ms", "10ms", "100ms", "1s"];

pub(super) struct Axis {
    columns: usize,
    look: Look,
}

impl Axis {
    /// An axis of this width, the last label included.
    pub(super) fn new(columns: usize, look: Look) -> Self {
        let last = LABELS.last().map_or(0, |label| width(label));
        Self { columns: columns.saturating_sub(last), look }
    }

    /// The position of `ns` in eighths of a cell from the left end, clamped to the axis.
    fn eighths(&self, ns: f64) -> usize {
        if ns.is_nan() || ns <= 0.0 {
            return 0;
        }
        let share = ((ns.log10() - FIRST) / (LAST - FIRST)).clamp(0.0, 1.0);
        (share * (self.columns * 8) as f64).round() as usize
    }

    /// Labels at the powers of ten: of each, or of every second one and so on, until they fit side
    /// by side. Steps that differ would be misread.
    pub(super) fn labels(&self, mut line: Line) -> Line {
        let begin = line.width();
        let end = self.columns + LABELS.last().map_or(0, |label| width(label));
        let at = |power: usize| self.columns * power / (LABELS.len() - 1);
        let fits = |step: &usize| {
            let mut before = (0..LABELS.len() - step).step_by(*step);
            before.all(|power| at(power) + width(LABELS[power]) < at(power + step))
        };
        let step = (1..LABELS.len()).find(fits).unwrap_or(LABELS.len());
        for (power, label) in LABELS.iter().enumerate().step_by(step) {
            if at(power) + width(label) <= end {
                line = line.pad_to(begin + at(power)).add(Ink::Dim, label);
            }
        }
        line
    }

    /// A bar up to `median`, lighter up to `far`, with the marks of references; of two in one cell
    /// the later one.
    pub(super) fn bar(&self, line: Line, median: f64, far: f64, marks: &[(f64, char)]) -> Line {
        const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        let eighths = self.eighths(median).max(1);
        let (full, part, light) =
            if self.look.unicode { ("█", PARTS[eighths % 8], "░") } else { ("#", "", "-") };
        // Without eighths a bar is rounded to cells.
        let cells = if self.look.unicode { eighths / 8 } else { (eighths + 4) / 8 };
        let bar = full.repeat(cells) + part;
        let lighter = (self.eighths(far) / 8).saturating_sub(width(&bar));
        let mut cells: Vec<(Ink, char)> = bar.chars().map(|char| (Ink::Plain, char)).collect();
        cells.extend(light.repeat(lighter).chars().map(|char| (Ink::Dim, char)));
        for (ns, mark) in marks {
            let at = self.eighths(*ns) / 8;
            if cells.len() <= at {
                cells.resize(at + 1, (Ink::Plain, ' '));
            }
            cells[at] = (Ink::Bold, *mark);
        }
        cells.into_iter().fold(line, |line, (ink, char)| line.add(ink, char.encode_utf8(&mut [0; 4])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look::PLAIN;

    #[test]
    fn each_power_of_ten_is_a_tenth_of_the_axis() {
        let axis = Axis::new(52, LOOK);
        for (ns, cells) in
            [(0.1, 0), (1.0, 5), (1000.0, 20), (1e9, 50), (1e12, 50), (0.01, 0), (-3.0, 0), (f64::NAN, 0)]
        {
            assert_eq!(axis.eighths(ns), cells * 8, "{ns}");
        }
    }

    #[test]
    fn a_bar_is_never_nothing_and_never_beyond_the_axis() {
        for unicode in [true, false] {
            let axis = Axis::new(30, Look { unicode, ..LOOK });
            for ns in [0.0, 0.1, 0.11, 5.0, 123.0, 1e9, 1e15] {
                let line = axis.bar(Line::new(axis.look), ns, ns * 3.0, &[(ns, 'a'), (1e12, 'b')]);
                assert!(line.width() <= 30, "{ns}");
                assert!(!unicode || line.width() > 0, "{ns}");
            }
        }
    }

    #[test]
    fn labels_stand_where_their_bars_end_as_many_as_fit() {
        let text = |columns| Axis::new(columns, LOOK).labels(Line::new(LOOK)).render();
        assert_eq!(
            text(72),
            "0.1ns  1ns    10ns   100ns  1us    10us   100us  1ms    10ms   100ms  1s".to_owned()
        );
        assert_eq!(text(48), "0.1ns    10ns     1us      100us    10ms      1s".to_owned());
        assert!(text(24).starts_with("0.1ns"));
        assert!((22..80).all(|columns| width(&text(columns)) <= columns));
    }
}
