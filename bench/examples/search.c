/* Looks up each of a thousand numbers in a sorted table of a thousand. */
#include <stdio.h>

static int table[1000];

__attribute__((noinline)) static int search(int wanted)
{
	int low = 0, high = 1000;
	while (low < high) {
		int middle = (low + high) / 2;
		if (table[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int main(void)
{
	long sum = 0;
	for (int i = 0; i < 1000; i++)
		table[i] = 3 * i;
	for (int i = 0; i < 1000; i++)
		sum += search(3 * i + i % 2);
	return printf("%ld\n", sum) < 0;
}
