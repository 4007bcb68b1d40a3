# Books 100,000 entries, one after another, until somebody puts a stop file there.
use strict;
use warnings;
my $every = $ARGV[0] eq "each" ? 1 : 200;
my (%balance, %last, @log);

sub stopped {
    return -e "run/ledger/stop";
}

sub entry {
    my $x = shift;
    return sprintf "%d;acct-%03d;acct-%03d;%d.%02d;fee=%d", $x, $x % 311, ($x >> 9) % 311,
        $x % 4000, $x % 100, $x % 7;
}

sub parse {
    my ($id, $from, $to, $sum, $more) = split /;/, shift;
    my ($fee) = $more =~ /fee=(\d+)/;
    return ($id, $from, $to, $sum * 100, $fee);
}

sub book {
    my ($id, $from, $to, $cents, $fee) = @_;
    $balance{$from} -= $cents + $fee;
    $balance{$to} += $cents;
    $last{$_} = $id for $from, $to;
    return $balance{$from} < -900_000 ? "overdrawn" : "booked";
}

sub rules {
    my ($from, $to, $cents) = @_;
    my @broken;
    push @broken, "self" if $from eq $to;
    push @broken, "large" if $cents > 390_000;
    push @broken, "stale" if ($last{$from} // 0) < ($last{$to} // 0);
    return join("+", sort @broken) || "clean";
}

sub seal {
    my ($line, $before) = @_;
    my $sum = unpack "%32C*", $line;
    return sprintf "%s|%08x", $line, ($sum * 31 + hex substr $before, -8) & 0xffffffff;
}

sub remember {
    my @parts = @_;
    push @log, seal(join(" ", @parts), @log ? $log[-1] : "0" x 8);
    @log = @log[-20 .. -1] if @log > 200;
}

my $x = 1;
for my $n (1 .. 100_000) {
    last if $n % $every == 0 && stopped();
    $x = ($x * 1103515245 + 12345) & 0x7fffffff;
    my ($id, $from, $to, $cents, $fee) = parse(entry($x));
    my $rules = rules($from, $to, $cents);
    my $state = book($id, $from, $to, $cents, $fee);
    $x ^= 1 if $state eq "overdrawn";
    remember($id, $from, $state, $rules);
}
print join(" ", scalar(keys %balance), $balance{"acct-100"}, $log[-1]), "\n";
