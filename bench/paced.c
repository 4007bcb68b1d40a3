/* A ping-pong of one byte between two processes through two pipes, RATE times a second for SECONDS:
 * bursts of a millisecond, and delays are made up for. A round is four calls and two waits, each
 * with its wake-up. Prints the number of rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BURSTS 1000 /* a second */

static int answers(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1)
		if (write(to, &byte, 1) != 1)
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	long rate = argc > 1 ? atol(argv[1]) : 12500, seconds = argc > 2 ? atol(argv[2]) : 10;
	int there[2], back[2], status;
	struct timespec next;
	long done = 0;
	char byte = 0;

	if (pipe(there) || pipe(back)) {
		perror("paced");
		return 1;
	}
	pid_t child = fork();
	if (child < 0) {
		perror("fork");
		return 1;
	}
	if (child == 0) {
		close(there[1]);
		_exit(answers(there[0], back[1]));
	}
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long burst = 1; burst <= seconds * BURSTS; burst++) {
		for (; done < burst * rate / BURSTS; done++)
			if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
				return 1;
		next.tv_nsec += 1000000000 / BURSTS;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, 0);
	}
	close(there[1]);
	if (waitpid(child, &status, 0) != child || status)
		return 1;
	return printf("%ld\n", done) < 0;
}
