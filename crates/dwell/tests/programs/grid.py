"""A grid that is allocated anew in each step of a simulation, which is what its time goes into."""


def evolve(grid, size):
    new = [[0.0] * size for _ in range(size)]  # line of the allocation
    for x in range(1, 3):
        for y in range(1, 3):
            new[x][y] = (grid[x - 1][y] + grid[x + 1][y] + grid[x][y - 1] + grid[x][y + 1]) / 4
    return new


def main():
    size = 1500
    grid = [[1.0] * size for _ in range(size)]
    for _ in range(60):
        grid = evolve(grid, size)
    print(len(grid))


main()
