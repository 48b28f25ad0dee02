# words.pl ROUNDS: words are made, split, counted, sorted, changed and printed.
my ($rounds) = @ARGV;
my $seed = 11;

sub number {
	my ($below) = @_;
	$seed = ($seed * 1103515245 + 12345) % 2147483648;
	return int($seed / 65536) % $below;
}

sub word {
	my @parts = qw(ka lo mi nu pe ra si to ve zu);
	return join '', map { $parts[number(10)] } 1 .. 1 + number(3);
}

sub line {
	return join ' ', map { word() } 1 .. 12;
}

sub count {
	my ($counts, $text) = @_;
	$counts->{lc $1}++ while $text =~ /(\w+)/g;
}

sub most {
	my ($counts, $n) = @_;
	my @names = sort { $counts->{$b} <=> $counts->{$a} || $a cmp $b } keys %$counts;
	return @names[0 .. $n - 1];
}

my (%counts, $sum);
for my $round (1 .. $rounds) {
	my $text = line();
	count(\%counts, $text);
	$text =~ s/(\w)(\w+)/\u$1$2/g;
	$text =~ tr/a-e/A-E/;
	$sum = ($sum * 31 + unpack '%32C*', $text) % 1000003;
}
printf "%s %d\n", $_, $counts{$_} for most(\%counts, 10);
print "$sum\n";
