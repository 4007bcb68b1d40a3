# Prints how many of 40 records are of a Monday.
proc day {t how} {
    if {$how eq "exec"} { return [exec date -d @$t +%u] }
    return [clock format $t -format %u -gmt 1]
}
set n 0
for {set i 0} {$i < 40} {incr i} {
    for {set k 0} {$k < 20000} {incr k} { set w [expr {($k * 31 + $i) % 977}] }
    if {[day [expr {1700000000 + $i * 40000}] [lindex $argv 0]] == 1} { incr n }
}
puts $n
