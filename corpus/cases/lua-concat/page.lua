-- Builds a page of 14,000 lines.
local function dots(n)
  local s = ""
  for i = 1, n do s = s .. "line " .. i .. " of the page\n" end
  return s
end

local function parts(n)
  local t = {}
  for i = 1, n do t[#t + 1] = "line " .. i .. " of the page\n" end
  return table.concat(t)
end

print(#(arg[1] == "dots" and dots or parts)(14000))
