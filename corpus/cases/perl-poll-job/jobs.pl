# Runs six jobs, one after another.
use strict;
use warnings;
my $how = shift;

sub job {
    my ($n) = @_;
    my $sum = 0;
    $sum += $_ % 7 for 1 .. 2_000_000;
    open(my $f, '>', "result.tmp") or die;
    print $f $sum + $n;
    close $f;
    rename "result.tmp", "result$n";
}

sub finished {
    my ($n, $pid) = @_;
    select(undef, undef, undef, 0.06) until $how eq 'wait' or -e "result$n";
    waitpid $pid, 0;
}

for my $n (1 .. 6) {
    unlink "result$n";
    my $pid = fork;
    if (!$pid) { job($n); exit }
    finished($n, $pid);
}
print "done\n";
