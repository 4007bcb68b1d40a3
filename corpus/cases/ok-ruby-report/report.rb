# Sums by group.
sums = Hash.new(0)
x = 1
1_200_000.times do |i|
  x = (x * 1_103_515_245 + 12_345) & 0x7fffffff
  sums[x % 997] += i
end
puts sums.size, sums.values.max
