# Checks 6,000 steps and logs each; the log is complete after each line both ways.
KEPT = ARGV[0] == 'kept' ? File.open('debug.log', 'w').tap { |f| f.sync = true } : nil

def debug(line)
  return KEPT.puts(line) if KEPT

  File.open('debug.log', 'a') { |f| f.puts(line) }
end

x = 1
6_000.times do |i|
  900.times { |k| x = (x * 31 + k) & 0xffff }
  debug("step #{i} gave #{x}")
end
puts x
File.delete('debug.log')
