# Prints the pages whose number ends in an odd digit.
use strict;
use warnings;
$| = shift;
while (my $line = <STDIN>) {
    next unless $line =~ m{^GET\s+/(\w+)/(\d+)\s+(\d+)$} and $1 eq 'page' and $3 == 200;
    my $sum = 0;
    $sum += ord for split //, $line;
    print $line if $sum and $line =~ m{/page/\d*[13579] };
}
