# Makes the folder that is listed: 2,000 files with times that differ.
use strict;
mkdir "photos";
for my $i (1 .. 2000) {
    my $name = sprintf "photos/img%05d.jpg", ($i * 7919) % 100003;
    open my $f, ">", $name or die;
    close $f;
    my $time = 1_600_000_000 + ($i * 104729) % 9_999_991;
    utime $time, $time, $name;
}
