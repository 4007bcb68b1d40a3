-- Writes 40,000 rows of four fields.
local f = assert(io.open("table.csv", "w"))
f:setvbuf(arg[1])
local x = 1
for i = 1, 40000 do
  for _ = 1, 700 do x = (x * 31 + i) % 65521 end
  f:write(i, ",", x, "\n")
end
f:close()
print(x)
