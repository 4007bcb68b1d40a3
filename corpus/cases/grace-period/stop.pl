# Starts three services, writes their last state, and stops them: asks them to end, gives them some
# grace, and kills what is left.
use strict;
use warnings;
my $wait_all = $ARGV[0] eq "whole";

sub service {
    my $pid = fork // die;
    return $pid if $pid;
    $SIG{TERM} = sub { exit 0 };
    sleep 10 while 1;
}

sub save_state {
    my %seen;
    my $x = 7;
    for (1 .. 60_000) {
        $x = ($x * 1103515245 + 12345) & 0x7fffffff;
        $seen{ $x % 900 }++;
    }
    return join ",", map { "$_:$seen{$_}" } sort { $a <=> $b } keys %seen;
}

sub stop {
    my @pids = @_;
    kill TERM => @pids;
    if ($wait_all) {
        select undef, undef, undef, 0.9;
        kill KILL => @pids;
    }
    waitpid $_, 0 for @pids;
}

my @pids = map { service() } 1 .. 3;
my $state = save_state();
stop(@pids);
print length $state, "\n";
