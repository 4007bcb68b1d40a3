/* Programs that live already when dwell attaches. `lives WHAT [MS]`, for ever unless MS says how long. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *idles(void *none)
{
	pthread_mutex_lock(&lock);
	for (;;)
		pthread_cond_wait(&never, &lock);
	return none;
}

static void *wants(void *none)
{
	pthread_mutex_lock(&lock);
	return none;
}

static void *spins(void *none)
{
	for (volatile unsigned long i = 0;; i++)
		;
	return none;
}

/* Runs, calls, sleeps and blocks in turn, each thread in its own rhythm. */
static void *works(void *number)
{
	struct timespec pause = { 0, 8000000 + 170000 * (long)number };
	int ends[2];
	char byte = 0;
	if (pipe(ends))
		abort();
	for (;;) {
		for (volatile int i = 0; i < 20000; i++)
			;
		if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
			abort();
		nanosleep(&pause, 0);
	}
	return 0;
}

static void *lives_shortly(void *none)
{
	usleep(3000);
	return none;
}

static void *bears(void *none)
{
	for (;;) {
		pthread_t child;
		if (!pthread_create(&child, 0, lives_shortly, 0))
			pthread_join(child, 0);
		usleep(2000);
	}
	return none;
}

static void start(int many, void *(*what)(void *))
{
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	for (long i = 0; i < many; i++) {
		pthread_t thread;
		if (pthread_create(&thread, &small, what, (void *)i))
			abort();
	}
}

int main(int count, char **words)
{
	const char *what = words[1];
	if (!strcmp(what, "crowd"))
		start(200, idles), start(2, spins);
	else if (!strcmp(what, "few"))
		start(30, idles), start(2, spins);
	else if (!strcmp(what, "busy"))
		start(100, works);
	else if (!strcmp(what, "births"))
		start(1, bears);
	else if (!strcmp(what, "wants"))
		pthread_mutex_lock(&lock), start(1, wants), puts("ready"), fflush(stdout), pause();
	else if (!strcmp(what, "spins"))
		puts("ready"), fflush(stdout), spins(0);
	puts("ready");
	fflush(stdout);
	if (count > 2)
		usleep(atoi(words[2]) * 1000);
	else
		idles(0);
	return 0;
}
