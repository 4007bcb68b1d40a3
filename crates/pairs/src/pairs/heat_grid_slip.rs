//! The heat grid in Python, with rows that are 512 times as long as meant.

use crate::{Language, Pair, Run, Size, Source, Way, Writing};

pub(super) static PAIR: Pair = Pair {
    name: "heat-grid-slip",
    title: "a new grid in Python whose rows are 512 times too long, or two that are swapped",
    cause: Some("page-faults"),
    size: Size { unit: "steps", usual: 14, least: 10, most: 16 },
    ways: &[
        Way { name: "slip", what: "a new grid of rows too long", run: Run::Foreign(&SOURCE) },
        Way { name: "swapped", what: "two grids that are swapped", run: Run::Foreign(&SOURCE) },
        Way { name: "meant", what: "a new grid as it was meant", run: Run::Foreign(&SOURCE) },
    ],
    source: SOURCE.text,
    needs: &[],
    lesson: "Each row is made as [0.0] * 512 * 512: one factor too many, and no result is wrong. A step then takes 128 MiB \
             for the 64 rows here (a gigabyte for 512), touches each page of it once, and gives it back. To swap two grids \
             hides that; so does to leave out the factor. That the kernel had most of the time and not Python is what \
             tells it from slow code.",
    writing: Some(Writing {
        title: "Understanding latency, a course on optimising Python",
        theirs: "100 steps of 512 x 512 took 55.5 s with a new grid each step and 34.1 s with two that are swapped; the line \
                 that makes the grid had 39.3 %",
    }),
};

static SOURCE: Source =
    Source { language: Language::Python, file: "heat_grid_slip.py", text: include_str!("heat_grid_slip.py") };
