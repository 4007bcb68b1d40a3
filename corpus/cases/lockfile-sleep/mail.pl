# Delivers ten mails under a lock file; the argument is the pause before the next trial.
use strict;
use warnings;
use Fcntl;
my $pause = shift;

sub locked {
    my ($what) = @_;
    until (sysopen(my $f, 'mail.lock', O_CREAT | O_EXCL | O_WRONLY)) {
        select(undef, undef, undef, $pause);
    }
    $what->();
    unlink 'mail.lock';
}

my $sum = 0;
for my $mail (1 .. 10) {
    $sum += $_ % 7 for 1 .. 60_000;
    locked(sub { $sum += $_ % 5 for 1 .. 150_000 });
}
