-- Counts the points of a Mandelbrot set.
local n, inside = 520, 0
for py = 0, n - 1 do
  for px = 0, n - 1 do
    local cx, cy, x, y, k = px * 3 / n - 2, py * 2 / n - 1, 0, 0, 0
    while k < 100 and x * x + y * y < 4 do
      x, y, k = x * x - y * y + cx, 2 * x * y + cy, k + 1
    end
    if k == 100 then inside = inside + 1 end
  end
end
print(inside)
