/* timed OUT [--rss] COMMAND…: runs COMMAND and writes when it began and ended, how it ended, its
 * peak memory and its CPU time, with that of its children.
 *
 * It is used both around a tool and, as the program, within it: the difference of the two is the
 * tool's own start-up and exit. Memory is read from /proc while the command runs (only with --rss,
 * as reading costs time): rusage would give the largest of the command and all its children. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* The most resident memory it has had so far, in KiB; 0 when it is gone. */
static long peak_kib(pid_t pid)
{
	char path[64], line[256];
	long kib = 0;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	FILE *status = fopen(path, "r");
	if (!status)
		return 0;
	while (fgets(line, sizeof line, status))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	fclose(status);
	return kib;
}

/* By vfork, so that what is timed is the start of the command and not the copying of this one's
 * pages. */
static pid_t start(char **command)
{
	pid_t child = vfork();

	if (child == 0) {
		execvp(command[0], command);
		_exit(127);
	}
	return child;
}

int main(int argc, char **argv)
{
	int watch = argc > 3 && !strcmp(argv[2], "--rss");
	char **command = argv + (watch ? 3 : 2);
	struct timespec pause = { 0, 2000000 };
	int status;
	long peak = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: timed OUT [--rss] COMMAND...\n");
		return 2;
	}
	long long begun = now_ns();
	pid_t child = start(command);
	if (child < 0) {
		perror("vfork");
		return 1;
	}
	while (watch && waitpid(child, &status, WNOHANG) == 0) {
		long kib = peak_kib(child);
		peak = kib > peak ? kib : peak;
		nanosleep(&pause, NULL);
	}
	if (!watch && waitpid(child, &status, 0) != child) {
		perror("waitpid");
		return 1;
	}
	long long ended = now_ns();
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	struct rusage used;
	/* Of all that was waited for: the command and what it waited for itself. */
	if (getrusage(RUSAGE_CHILDREN, &used)) {
		perror("getrusage");
		return 1;
	}
	long long cpu_us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000ll;
	cpu_us += used.ru_utime.tv_usec + used.ru_stime.tv_usec;
	FILE *out = fopen(argv[1], "w");
	if (!out) {
		perror(argv[1]);
		return 1;
	}
	fprintf(out, "%lld %lld %d %ld %lld\n", begun, ended, code, peak, cpu_us);
	if (fclose(out))
		return 1;
	return code;
}
