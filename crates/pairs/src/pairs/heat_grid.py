"""Heat that spreads over a grid of lists: heat_grid.py new|rows|swapped STEPS."""

import sys

SIDE = 512


def new(steps):
    grid = beginning()
    for _ in range(steps):
        following = [[0.0] * SIDE for _ in range(SIDE)]
        evolve(grid, following)
        grid = following


def swapped(steps):
    grid = beginning()
    following = [[0.0] * SIDE for _ in range(SIDE)]
    for _ in range(steps):
        evolve(grid, following)
        grid, following = following, grid


def rows(steps):
    grid = beginning()
    for _ in range(steps):
        inner = [row(*three) for three in zip(grid, grid[1:], grid[2:])]
        grid = [grid[0]] + inner + [grid[-1]]


def beginning():
    hot = range(SIDE * 2 // 5, SIDE * 3 // 5)
    return [[1.0 if x in hot and y in hot else 0.0 for x in range(SIDE)] for y in range(SIDE)]


def evolve(grid, following):
    for y in range(1, SIDE - 1):
        for x in range(1, SIDE - 1):
            around = grid[y - 1][x] + grid[y + 1][x] + grid[y][x - 1] + grid[y][x + 1]
            following[y][x] = grid[y][x] + 0.1 * (around - 4.0 * grid[y][x])


def row(above, here, below):
    beside = zip(above[1:], below[1:], here, here[1:], here[2:])
    inner = [at + 0.1 * (up + down + left + right - 4.0 * at) for up, down, left, at, right in beside]
    return [here[0]] + inner + [here[-1]]


{"new": new, "rows": rows, "swapped": swapped}[sys.argv[1]](int(sys.argv[2]))
