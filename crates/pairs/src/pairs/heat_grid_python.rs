//! The heat grid in Python: cell by cell into a new grid, row by row, or cell by cell into two
//! grids that are swapped.

use crate::{Language, Pair, Run, Size, Source, Way, Writing};

pub(super) static PAIR: Pair = Pair {
    name: "heat-grid-python",
    title: "a heat grid of 512 x 512 in Python: cell by cell, or row by row",
    cause: Some("hot-code"),
    size: Size { unit: "steps", usual: 12, least: 6, most: 12 },
    ways: &[
        Way { name: "new", what: "cell by cell into a new grid", run: Run::Foreign(&SOURCE) },
        Way { name: "rows", what: "row by row", run: Run::Foreign(&SOURCE) },
        Way { name: "swapped", what: "cell by cell, two grids swapped", run: Run::Foreign(&SOURCE) },
    ],
    source: SOURCE.text,
    needs: &[],
    lesson: "A new grid of lists is 2 MiB a step, little beside the sums of 262,144 cells: swapping two grids saves some \
             percent, and most of what others gained by it came from a slip (see heat-grid-slip). The time is that of the \
             cells: each looks up rows and places by index. Going along three rows at once does the same sums without \
             these look-ups.",
    writing: Some(Writing {
        title: "Understanding latency, a course on optimising Python",
        theirs: "100 steps took 55.5 s with a new grid each step (39.3 % in the line that makes it) and 34.1 s with two grids \
                 that are swapped",
    }),
};

static SOURCE: Source =
    Source { language: Language::Python, file: "heat_grid.py", text: include_str!("heat_grid.py") };
