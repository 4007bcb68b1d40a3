# Prints the most frequent words.
use strict;
use warnings;
my %n;
while (<>) { $n{$_}++ for split }
print "$_ $n{$_}\n" for (sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n)[0 .. 4];
