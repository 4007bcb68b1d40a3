# Lists a folder by date and writes the page of a gallery with a caption and a code for each file.
use strict;
use Digest::SHA qw(sha256_hex);
use Digest::MD5 qw(md5_hex);

my $how = shift // "each";
opendir my $dir, "photos" or die;
my @names = sort grep { /\.jpg$/ } readdir $dir;
closedir $dir;

sub by_date_each {
    return sort { (stat "photos/$a")[9] <=> (stat "photos/$b")[9] } @_;
}

sub by_date_once {
    my %time = map { $_ => (stat "photos/$_")[9] } @_;
    return sort { $time{$a} <=> $time{$b} } @_;
}

sub caption {
    my ($name) = @_;
    my @words = split //, $name x 8;
    my %seen;
    $seen{$_}++ for @words;
    return join "", map { "$_$seen{$_}" } sort keys %seen;
}

sub escape {
    my ($text) = @_;
    $text =~ s/([^A-Za-z0-9])/sprintf("&#%d;", ord $1)/ge;
    return $text;
}

my @sorted = $how eq "once" ? by_date_once(@names) : by_date_each(@names);
my $page = "";
for my $name (@sorted) {
    my $code = $name;
    $code = sha256_hex($code . $_) for 1 .. 100;
    $code = md5_hex($code . $_)    for 1 .. 120;
    $page .= escape(caption($name) . " [$name] ($code)") . "\n";
}
print md5_hex($page), " ", length($page), "\n";
