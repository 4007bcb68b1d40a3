//! Heat that spreads over a grid of 512 x 512: a new grid for each step, or two that are swapped.

use crate::work::keep;
use crate::{Pair, Run, Setting, Size, Way, Writing};
use std::{io, mem};

pub(super) static PAIR: Pair = Pair {
    name: "heat-grid",
    title: "a heat grid of 512 x 512: a new one each step, or two that are swapped",
    cause: Some("page-faults"),
    size: Size { unit: "steps", usual: 400, least: 200, most: 400 },
    ways: &[
        Way { name: "new", what: "a new grid for each step", run: Run::Native(new) },
        Way { name: "swapped", what: "two grids that are swapped", run: Run::Native(swapped) },
    ],
    source: include_str!("heat_grid.rs"),
    needs: &[],
    lesson: "A grid of 512 x 512 numbers is 2 MiB: 512 pages, which the allocator asks the kernel for and gives back each \
             step. The first touch of each page is a fault, and clearing it fills the caches with zeros that are \
             overwritten at once. Two grids that are swapped are touched for the first time once.",
    writing: Some(Writing {
        title: "Understanding latency, a course on optimising Python",
        theirs: "100 steps in Python took 55.5 s with a new grid each step and 34.1 s with two that are swapped; the line \
                 that makes the grid had 39.3 % (see heat-grid-slip)",
    }),
};

/// Cells of a row, and rows of the grid.
const SIDE: usize = 512;

fn new(setting: &Setting) -> io::Result<()> {
    let mut grid = beginning();
    for _ in 0..setting.size {
        let mut next = Vec::with_capacity(SIDE * SIDE);
        evolve(&grid, &mut next);
        grid = next;
    }
    keep(grid);
    Ok(())
}

fn swapped(setting: &Setting) -> io::Result<()> {
    let mut grid = beginning();
    let mut next = Vec::with_capacity(SIDE * SIDE);
    for _ in 0..setting.size {
        evolve(&grid, &mut next);
        mem::swap(&mut grid, &mut next);
    }
    keep(grid);
    Ok(())
}

/// A hot square in the middle.
fn beginning() -> Vec<f64> {
    let middle = SIDE * 2 / 5..SIDE * 3 / 5;
    let heat = |at| if middle.contains(&(at / SIDE)) && middle.contains(&(at % SIDE)) { 1.0 } else { 0.0 };
    (0..SIDE * SIDE).map(heat).collect()
}

/// What the grid is after a step, in the place of what was in `next`.
#[inline(never)]
fn evolve(grid: &[f64], next: &mut Vec<f64>) {
    next.clear();
    next.extend_from_slice(&grid[..SIDE]);
    for row in 1..SIDE - 1 {
        let [above, here, below] = [row - 1, row, row + 1].map(|row| &grid[row * SIDE..(row + 1) * SIDE]);
        next.push(here[0]);
        let inner = (1..SIDE - 1).map(|at| {
            here[at] + 0.1 * (above[at] + below[at] + here[at - 1] + here[at + 1] - 4.0 * here[at])
        });
        next.extend(inner);
        next.push(here[SIDE - 1]);
    }
    next.extend_from_slice(&grid[SIDE * (SIDE - 1)..]);
}
