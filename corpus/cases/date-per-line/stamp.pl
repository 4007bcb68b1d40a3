use strict;
use warnings;
use POSIX qw(strftime);

my $lines = 0;
for my $number (1 .. 150) {
    my $stamp;
    if ($ARGV[0] eq "date") {
        $stamp = `date +%Y-%m-%d`;
        chomp $stamp;
    } else {
        $stamp = strftime("%Y-%m-%d", localtime);
    }
    my $sum = 0;
    $sum = ($sum * 31 + $_) % 1000003 for 1 .. 4000;
    $lines += length("$stamp line $number $sum\n") > 0;
}
print "$lines\n";
