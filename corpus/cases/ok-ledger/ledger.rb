# Books 240,000 entries and makes them durable after every 80,000.
accounts = Hash.new(0)
out = File.open("ledger.txt", "w")
batch = []
state = 17

240_000.times do |n|
  state = (state * 1103515245 + 12345) & 0x7fffffff
  from = state % 997
  to = (state >> 10) % 991
  amount = state % 5000
  accounts[from] -= amount
  accounts[to] += amount
  batch << "#{n};#{from};#{to};#{amount}"
  next unless (n + 1) % 80_000 == 0

  out.write(batch.join("\n"), "\n")
  out.fsync
  batch.clear
end

out.close
puts File.size("ledger.txt"), accounts.values.sum, accounts.values.max
File.delete("ledger.txt")
