"""The accidental 512-fold row: heat_grid_slip.py slip|swapped|meant STEPS."""

import sys

ROWS, COLUMNS = 64, 512


def slip(steps):
    grid = beginning()
    for _ in range(steps):
        following = [[0.0] * COLUMNS * COLUMNS for _ in range(ROWS)]
        evolve(grid, following)
        grid = following


def swapped(steps):
    grid = beginning()
    following = [[0.0] * COLUMNS for _ in range(ROWS)]
    for _ in range(steps):
        evolve(grid, following)
        grid, following = following, grid


def meant(steps):
    grid = beginning()
    for _ in range(steps):
        following = [[0.0] * COLUMNS for _ in range(ROWS)]
        evolve(grid, following)
        grid = following


def beginning():
    return [[1.0 if 200 < x < 300 and 25 < y < 40 else 0.0 for x in range(COLUMNS)] for y in range(ROWS)]


def evolve(grid, following):
    for y in range(1, ROWS - 1):
        for x in range(1, COLUMNS - 1):
            around = grid[y - 1][x] + grid[y + 1][x] + grid[y][x - 1] + grid[y][x + 1]
            following[y][x] = grid[y][x] + 0.1 * (around - 4.0 * grid[y][x])


{"slip": slip, "swapped": swapped, "meant": meant}[sys.argv[1]](int(sys.argv[2]))
