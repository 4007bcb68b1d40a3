# Counts in three workers.
def part(n)
  x = n
  3_500_000.times { |i| x = (x * 31 + i) & 0xffff }
  x
end

if ARGV[0] == 'thread'
  puts (0...3).map { |n| Thread.new { part(n) } }.map(&:value).join(' ')
else
  pipes = (0...3).map do |n|
    r, w = IO.pipe
    fork do
      w.print part(n)
      w.close
    end
    w.close
    r
  end
  puts pipes.map(&:read).join(' ')
  Process.waitall
end
