/* Runs for 0.6 s in `spin`; before that puts a link to another file in the place of its own:
   swaps OTHER. Where KEY differs, so does the code. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#ifndef KEY
#define KEY 0x1111111
#endif

volatile unsigned long sum;

__attribute__((noinline)) void spin(void)
{
	struct timespec begun, now;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	do {
		for (int i = 0; i < 20000; i++)
			sum ^= KEY;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begun.tv_sec) * 1000000000L + now.tv_nsec - begun.tv_nsec < 600000000L);
}

int main(int count, char **words)
{
	if (count > 1 && (unlink(words[0]) || symlink(words[1], words[0]))) {
		perror(words[0]);
		return 1;
	}
	spin();
	return 0;
}
