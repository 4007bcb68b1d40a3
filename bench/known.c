/* known FILE [sleep|lock|flush|function]: work of some 40 ms, and then one known thing, if it is
 * named, that takes some 30 ms. Appends to FILE how long that took, in nanoseconds. */
#define _GNU_SOURCE
#include "result.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define THING_NS 30e6
#define WORK_NS 40e6

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held;
static volatile uint64_t kept = 1;

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Part of its caller: it is to have no row of its own. And long, since a clock of CPU time is a
 * call of the kernel. */
static inline __attribute__((always_inline)) void churn(void)
{
	for (int i = 0; i < 100000; i++)
		kept = kept * 6364136223846793005u + 1442695040888963407u;
}

__attribute__((noinline)) void usual_work(void)
{
	for (double end = cpu_ns() + WORK_NS; cpu_ns() < end;)
		churn();
}

__attribute__((noinline)) void needless_work(void)
{
	for (double end = cpu_ns() + THING_NS; cpu_ns() < end;)
		churn();
}

static void *holder(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&held);
	needless_work();
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Waits for a lock whose holder works. */
static double wait_for_lock(void)
{
	pthread_t thread;

	pthread_barrier_init(&held, NULL, 2);
	pthread_create(&thread, NULL, holder, NULL);
	pthread_barrier_wait(&held);
	double from = now_ns();
	pthread_mutex_lock(&lock);
	double to = now_ns();
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	return to - from;
}

/* Writes and flushes until the time is over: much at once, so that the calls are few, and what it
 * costs to observe them is no part of it. */
static double flush(const char *results)
{
	static char block[1 << 20] = { 1 };
	char path[4096];
	double took = 0;

	snprintf(path, sizeof path, "%s.flushed", results);
	int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (file < 0)
		return -1;
	while (took < THING_NS) {
		if (write(file, block, sizeof block) < 0)
			return -1;
		double from = now_ns();
		fsync(file);
		took += now_ns() - from;
	}
	close(file);
	unlink(path);
	return took;
}

int main(int argc, char **argv)
{
	double took = 0;

	if (argc < 2)
		return 2;
	usual_work();
	if (argc > 2) {
		struct timespec time = { 0, (long)THING_NS };
		double from = now_ns();
		if (!strcmp(argv[2], "sleep"))
			nanosleep(&time, NULL);
		else if (!strcmp(argv[2], "function"))
			needless_work();
		took = now_ns() - from;
		if (!strcmp(argv[2], "lock"))
			took = wait_for_lock();
		else if (!strcmp(argv[2], "flush"))
			took = flush(argv[1]);
	}
	if (took < 0)
		return 1;
	FILE *results = fopen(argv[1], "a");
	if (!results) {
		perror(argv[1]);
		return 1;
	}
	fprintf(results, "%.0f\n", took);
	return fclose(results) ? 1 : 0;
}
