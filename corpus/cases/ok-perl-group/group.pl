use strict;
use warnings;

my ($seed, %sums) = (5);
for (1 .. 400_000) {
    $seed = ($seed * 69_069 + 1) % 4_294_967_296;
    $sums{ 'key-' . $seed % 997 } += $seed % 1000;
}
my @largest = (sort { $sums{$b} <=> $sums{$a} || $a cmp $b } keys %sums)[0 .. 9];
print "$_ $sums{$_}\n" for @largest;
