# Counts the different names among 20,000.
proc by_list {names} {
    set seen {}
    foreach n $names { if {[lsearch -exact $seen $n] < 0} { lappend seen $n } }
    return [llength $seen]
}
proc by_array {names} {
    foreach n $names { set seen($n) 1 }
    return [array size seen]
}
set names {}
for {set i 0} {$i < 20000} {incr i} { lappend names "name[expr {$i * 7919 % 8009}]" }
puts [expr {[lindex $argv 0] eq "list" ? [by_list $names] : [by_array $names]}]
