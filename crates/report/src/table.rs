//! Tables fitted to the page: as wide as their content; on narrower pages text columns are
//! narrowed, then the least important columns dropped. Figures are aligned by their last digit,
//! units have a column of their own.

use crate::Look;
use crate::clean::{clean, fit, fit_end, width};
use crate::paint::{GAP, Grid, Ink, Line};

/// Blanks before each row; the title is at the margin.
const INDENT: usize = 2;
/// The least width of a text column when no more columns can be dropped.
const LEAST: usize = 4;

/// One column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    head: &'static str,
    kind: Kind,
    /// Columns are dropped from the highest rank down; those of rank 0 stay.
    rank: u8,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Left-aligned; may be narrowed to this width.
    Text(usize),
    /// A figure, or a figure and its unit.
    Figure,
}

/// A text column that may be narrowed to the width `least`.
pub(crate) fn text(head: &'static str, least: usize, rank: u8) -> Column {
    Column { head, kind: Kind::Text(least), rank }
}

/// A column of figures.
pub(crate) fn figure(head: &'static str, rank: u8) -> Column {
    Column { head, kind: Kind::Figure, rank }
}

struct Row {
    cells: Vec<(Ink, String)>,
    /// The first cell extends over the text columns after it: in the title and the row for the
    /// rest.
    runs_over: bool,
}

/// A table with its title in the head row.
pub(crate) struct Table {
    look: Look,
    columns: Vec<Column>,
    rows: Vec<Row>,
}

impl Table {
    pub(crate) fn new(look: Look, title: &str, columns: Vec<Column>) -> Self {
        let mut head: Vec<_> = columns.iter().map(|column| (Ink::Dim, column.head.to_owned())).collect();
        if let Some(first) = head.first_mut() {
            *first = (Ink::Bold, title.to_owned());
        }
        // The title extends over columns without a head only.
        let runs_over = true;
        Table { look, columns, rows: vec![Row { cells: head, runs_over }] }
    }

    pub(crate) fn row(&mut self, cells: Vec<(Ink, String)>) {
        self.add(cells, false);
    }

    /// The row for the rest: its first cell may be as wide as all leading text columns.
    pub(crate) fn rest(&mut self, cells: Vec<(Ink, String)>) {
        self.add(cells, true);
    }

    fn add(&mut self, cells: Vec<(Ink, String)>, runs_over: bool) {
        let cells = cells.into_iter().map(|(ink, text)| (ink, clean(&text, self.look.unicode))).collect();
        self.rows.push(Row { cells, runs_over });
    }

    pub(crate) fn lines(mut self) -> Vec<Line> {
        if self.look.is_document() {
            return vec![Line::of(self.look, self.grid())];
        }
        let mut widths = self.natural_widths();
        let room = self.look.columns();
        self.narrow(&mut widths, room, false);
        while total(&widths) > room {
            let droppable = (0..self.columns.len()).filter(|index| self.columns[*index].rank > 0);
            let Some(index) = droppable.max_by_key(|index| self.columns[*index].rank) else { break };
            self.columns.remove(index);
            for row in &mut self.rows {
                row.cells.remove(index);
            }
            // The room of the dropped column goes back to the text columns.
            widths = self.natural_widths();
            self.narrow(&mut widths, room, false);
        }
        // Text columns are narrowed before any figure is cut.
        self.narrow(&mut widths, room, true);
        let leading = self.leading();
        self.rows
            .iter()
            .enumerate()
            .map(|(index, row)| self.line(row, index == 0, &widths, leading))
            .collect()
    }

    /// The table without a layout.
    fn grid(self) -> Grid {
        let mut rows = self.rows.into_iter();
        let title = rows.next().and_then(|head| head.cells.into_iter().next()).map(|(_, title)| title);
        let head = |column: &Column| (column.head.to_owned(), matches!(column.kind, Kind::Figure));
        let heads = self.columns.iter().map(head).collect();
        let rows = rows.map(|row| (row.cells, row.runs_over)).collect();
        Grid { title: title.unwrap_or_default(), heads, rows }
    }

    /// The number of leading text columns, over which a cell may extend.
    fn leading(&self) -> usize {
        self.columns.iter().take_while(|column| matches!(column.kind, Kind::Text(_))).count()
    }

    /// The widest figure and the widest unit of a column.
    fn figure_widths(&self, column: usize) -> (usize, usize) {
        let split = self.rows[1..].iter().map(|row| figure_and_unit(&row.cells[column].1));
        split.fold((0, 0), |(figures, units), (figure, unit)| {
            (figures.max(width(figure)), units.max(width(unit)))
        })
    }

    fn natural_widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = (0..self.columns.len())
            .map(|index| {
                let head = if index == 0 { 0 } else { width(self.columns[index].head) };
                let body = match self.columns[index].kind {
                    Kind::Text(_) => {
                        let cells = self.rows.iter().filter(|row| !row.runs_over || index > 0);
                        cells.map(|row| width(&row.cells[index].1)).max().unwrap_or(0)
                    }
                    Kind::Figure => {
                        let (figures, units) = self.figure_widths(index);
                        figures + units
                    }
                };
                head.max(body)
            })
            .collect();
        // A cell that extends may be wider than the leading columns: the last of them is widened.
        let leading = self.leading();
        let have = total(&widths[..leading]);
        let need = self.rows.iter().enumerate().filter(|(_, row)| row.runs_over);
        let need = need.map(|(index, row)| self.run_over_width(row, index == 0, leading)).max().unwrap_or(0);
        if let Some(last) = widths[..leading].last_mut() {
            *last += need.saturating_sub(have);
        }
        widths
    }

    /// The width of a row's first cell where it extends over text columns without text of their
    /// own.
    fn run_over_width(&self, row: &Row, head: bool, leading: usize) -> usize {
        let others =
            row.cells[1..leading.max(1)].iter().map(|cell| width(&cell.1)).filter(|width| *width > 0);
        let others: usize = others.map(|width| width + GAP).sum();
        width(&row.cells[0].1) + others + if head { 0 } else { INDENT }
    }

    /// Narrows the widest text columns until the table fits or all are at their least width: their
    /// own, or as a last resort the common one.
    fn narrow(&self, widths: &mut [usize], room: usize, hard: bool) {
        while total(widths) > room {
            let least = |index: usize| match self.columns[index].kind {
                Kind::Text(_) if hard => LEAST,
                Kind::Text(least) => least,
                Kind::Figure => usize::MAX,
            };
            let can = (0..widths.len()).filter(|index| widths[*index] > least(*index));
            let Some(widest) = can.max_by_key(|index| widths[*index]) else { return };
            widths[widest] -= 1;
        }
    }

    fn line(&self, row: &Row, head: bool, widths: &[usize], leading: usize) -> Line {
        let unicode = self.look.unicode;
        let mut line = Line::new(self.look);
        let mut at = if head { 0 } else { INDENT };
        let mut edge = INDENT;
        for (index, (ink, text)) in row.cells.iter().enumerate() {
            let end = edge + widths[index];
            match self.columns[index].kind {
                Kind::Text(_) => {
                    // A cell that extends uses the width of its empty neighbours.
                    let mut limit = end;
                    if row.runs_over && index == 0 {
                        let empty = row.cells[1..leading.max(1)].iter().take_while(|cell| cell.1.is_empty());
                        limit += widths[1..=empty.count()].iter().map(|width| width + GAP).sum::<usize>();
                    }
                    if !text.is_empty() {
                        line = line.pad_to(at).add(*ink, &fit_end(text, limit - at, unicode));
                    }
                }
                Kind::Figure if head => {
                    let text = fit(text, widths[index], unicode);
                    line = line.pad_to(end - width(&text)).add(*ink, &text);
                }
                Kind::Figure => {
                    let (_, units) = self.figure_widths(index);
                    let (figure, unit) = figure_and_unit(text);
                    // A figure without a unit, such as 0 among durations, is aligned at the end.
                    let figure_end = if unit.is_empty() { end } else { end - units };
                    line = line.pad_to(figure_end.saturating_sub(width(figure))).add(*ink, figure);
                    line = line.add(if *ink == Ink::Plain { Ink::Dim } else { *ink }, unit);
                }
            }
            edge = end + GAP;
            at = edge;
        }
        line.cut()
    }
}

/// The width of a table with indent and gaps.
fn total(widths: &[usize]) -> usize {
    INDENT + widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// `56.7` and ` ms`. A figure without a unit is all figure.
fn figure_and_unit(text: &str) -> (&str, &str) {
    text.split_at(text.find(' ').unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(width: u16) -> Vec<String> {
        let look = Look { width, colour: false, unicode: true, height: Look::HEIGHT };
        let columns =
            vec![text("", 4, 0), text("", 14, 0), figure("time", 0), figure("calls", 1), figure("p99", 2)];
        let mut table = Table::new(look, "waits", columns);
        let row = |cells: [&str; 5]| cells.map(|cell| (Ink::Plain, cell.to_owned())).to_vec();
        table.row(row(["disk", "a-file-of-some-length", "1.23 s", "1,234", "890 us"]));
        table.row(row(["pipe", "b", "56.7 ms", "2", "12 ns"]));
        table.rest(row(["… 12 more kinds of wait", "", "1 ns", "", ""]));
        table.lines().iter().map(Line::render).collect()
    }

    #[test]
    fn figures_are_aligned_with_their_units() {
        let expected = [
            "waits                             time  calls     p99",
            "  disk  a-file-of-some-length  1.23 s   1,234  890 us",
            "  pipe  b                      56.7 ms      2   12 ns",
            "  … 12 more kinds of wait         1 ns",
        ];
        assert_eq!(render(100), expected);
    }

    #[test]
    fn a_narrow_page_narrows_text_then_drops_columns() {
        assert!(render(46)[1].contains("a-file-of-som…"), "{:#?}", render(46));
        let narrow = render(40);
        assert!(!narrow[0].contains("p99") && narrow[0].contains("time"), "{narrow:#?}");
        assert!(narrow.iter().all(|line| width(line) <= 40), "{narrow:#?}");
    }
}
