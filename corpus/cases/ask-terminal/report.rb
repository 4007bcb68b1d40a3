# Asks the terminal whether its background is dark, and prints a report of a year's meter readings.
require "pty"

# A terminal of its own, which does not know the question and gives no answer.
def terminal
  PTY.open { |_, tty| yield tty }
end

def dark?(tty)
  return ENV["COLORFGBG"].end_with?(";0") if ENV["COLORFGBG"]
  tty.write("\e]11;?\a")
  tty.flush
  ready = IO.select([tty], nil, nil, 0.15)
  ready ? tty.readpartial(100).include?("rgb:0") : true
end

def readings
  level = 40.0
  x = 3
  Array.new(120_000) do |i|
    x = (x * 1103515245 + 12345) & 0x7fffffff
    level = level * 0.98 + (x >> 16) % 50 * 0.02
    "#{i / 100};meter-#{x % 40};#{format('%.2f', level)}"
  end
end

def parse(lines)
  lines.map do |l|
    day, meter, value = l.split(";")
    [day.to_i, meter, value.to_f]
  end
end

def smooth(rows)
  last = Hash.new(0.0)
  rows.map { |day, meter, value| [day, meter, last[meter] = last[meter] * 0.7 + value * 0.3] }
end

def months(rows)
  rows.group_by { |day, meter, _| [meter, day / 30] }.transform_values do |r|
    values = r.map(&:last).sort
    [values.first, values[values.size / 2], values.last]
  end
end

def table(months, dark)
  months.sort.map do |(meter, month), values|
    line = format("%-10s %2d %8.2f %8.2f %8.2f", meter, month, *values)
    values.last > 30 && dark ? "\e[93m#{line}\e[0m" : line
  end
end

dark = terminal { |tty| dark?(tty) }
lines = table(months(smooth(parse(readings))), dark)
puts lines.size, lines.join("\n").sum(32)
