/* A ping-pong of one byte between two processes on one CPU through two pipes, COUNT times: each
 * round trip is two switches. */
#define _GNU_SOURCE
#include "result.h"
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

static int pass(int from, int to, long count, int first)
{
	char byte = 0;

	for (long i = 0; i < count; i++) {
		if (first && write(to, &byte, 1) != 1)
			return 1;
		if (read(from, &byte, 1) != 1)
			return 1;
		if (!first && write(to, &byte, 1) != 1)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 100000;
	int there[2], back[2], status;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof one, &one) || pipe(there) || pipe(back)) {
		perror("ping_pong");
		return 1;
	}
	pid_t child = fork();
	if (child < 0) {
		perror("fork");
		return 1;
	}
	if (child == 0)
		_exit(pass(there[0], back[1], count, 0));
	double begun = now_ns();
	int failed = pass(back[0], there[1], count, 1);
	double took = now_ns() - begun;
	if (failed || waitpid(child, &status, 0) != child || status)
		return 1;
	return report(took / count);
}
