# Sums the squares of all lines.
{ sum += $1 * $1 }
END { print sum }
