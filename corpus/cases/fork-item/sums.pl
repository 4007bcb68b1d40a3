use strict;
use warnings;

sub work {
    my ($from) = @_;
    my $sum = 0;
    $sum += $_ * $_ for $from .. $from + 200;
    return $sum;
}

my $all = 0;
for my $item (1 .. 250) {
    if ($ARGV[0] eq 'fork') {
        my $child = open(my $answer, '-|') // die "fork: $!";
        if (!$child) {
            print work($item), "\n";
            exit 0;
        }
        $all += <$answer>;
        close $answer;
    } else {
        $all += work($item);
    }
}
print "$all\n";
