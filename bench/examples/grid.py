"""The heat equation on a grid that is built anew each step, rows far too wide by a slip."""

SIZE = 128


def step(grid):
    new = [[0.0] * (SIZE * SIZE * 8) for _ in range(SIZE)]
    for y in range(1, SIZE - 1):
        for x in range(1, SIZE - 1):
            new[y][x] = (grid[y - 1][x] + grid[y + 1][x] + grid[y][x - 1] + grid[y][x + 1]) / 4
    return new


grid = [[float(x * y) for x in range(SIZE)] for y in range(SIZE)]
for _ in range(5):
    grid = step(grid)
