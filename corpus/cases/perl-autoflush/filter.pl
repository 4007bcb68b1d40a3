# Prints the pages whose number ends in an odd digit.
use strict;
use warnings;
$| = shift;
while (my $line = <STDIN>) {
    print $line if $line =~ m{/page/\d*[13579] };
}
