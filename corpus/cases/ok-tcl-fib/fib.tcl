# The recursive definition, as a measure of calls.
proc fib {n} { expr {$n < 2 ? $n : [fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]} }
puts [fib 24]
