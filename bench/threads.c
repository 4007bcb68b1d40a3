/* THREADS threads, each COUNT times: some work of its own, then a short turn under one mutex. */
#include "result.h"
#include <pthread.h>
#include <stdint.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t shared;
static long count;

static uint64_t churn(uint64_t x, int rounds)
{
	for (int i = 0; i < rounds; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

static void *work(void *seed)
{
	uint64_t own = (uintptr_t)seed;

	for (long i = 0; i < count; i++) {
		own = churn(own, 20000);
		pthread_mutex_lock(&lock);
		shared = churn(shared ^ own, 1000);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 4;
	pthread_t ids[64];

	count = argc > 2 ? atol(argv[2]) : 10000;
	if (threads < 1 || threads > 64)
		return 1;
	double begun = now_ns();
	for (long i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, work, (void *)(uintptr_t)(i + 1)))
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	double took = now_ns() - begun;
	/* Printed, so that the work is not optimised away. */
	fprintf(stderr, "%lu\n", (unsigned long)(shared & 1));
	return report(took / ((double)count * threads));
}
