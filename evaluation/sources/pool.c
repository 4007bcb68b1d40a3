/* A pool of very many threads that wait for work, which is handed to one after the other: each
 * computes for a millisecond of its own CPU time and hands on. Or no work comes at all.
 *
 *   pool THREADS SECONDS 1|0 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static sem_t *turn;
static int threads;
static double end;
static volatile double sink;

static double seconds(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static void *worker(void *which)
{
	int own = (int)(long)which;
	for (;;) {
		while (sem_wait(&turn[own]))
			;
		if (seconds(CLOCK_MONOTONIC) >= end) {
			/* Hands on, so that all end. */
			sem_post(&turn[(own + 1) % threads]);
			return NULL;
		}
		double until = seconds(CLOCK_THREAD_CPUTIME_ID) + 0.001;
		while (seconds(CLOCK_THREAD_CPUTIME_ID) < until)
			for (int i = 0; i < 10000; i++)
				sink += i * 0.5;
		sem_post(&turn[(own + 1) % threads]);
	}
}

static void own_clock(void)
{
	struct rusage self;
	getrusage(RUSAGE_SELF, &self);
	printf("own cpu_ns %lld\n", (self.ru_utime.tv_sec + self.ru_stime.tv_sec) * 1000000000LL +
	       (self.ru_utime.tv_usec + self.ru_stime.tv_usec) * 1000LL);
}

int main(int argc, char **argv)
{
	if (argc != 4 || (threads = atoi(argv[1])) < 1)
		return 2;
	turn = calloc(threads, sizeof *turn);
	pthread_t *all = calloc(threads, sizeof *all);
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (long i = 0; i < threads; i++) {
		sem_init(&turn[i], 0, 0);
		if (pthread_create(&all[i], &small, worker, (void *)i)) {
			perror("pthread_create");
			return 3;
		}
	}
	end = seconds(CLOCK_MONOTONIC) + atof(argv[2]);
	fclose(fopen("up", "w"));
	/* At rest, the first turn comes when all is over. */
	if (!atoi(argv[3]))
		sleep(atoi(argv[2]));
	sem_post(&turn[0]);
	for (int i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	own_clock();
	return 0;
}
