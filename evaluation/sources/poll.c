/* A parent that looks every millisecond whether its worker is done, in one of the usual ways. The
 * worker computes all along, so the program is bound by the CPU however its parent waits. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile double sink;

static double seconds(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static void compute(double length)
{
	double end = seconds(CLOCK_MONOTONIC) + length;
	while (seconds(CLOCK_MONOTONIC) < end)
		for (int i = 0; i < 100000; i++)
			sink += i * 0.5;
}

static void *worker(void *length)
{
	compute(*(double *)length);
	atomic_store(&done, 1);
	return NULL;
}

static void a_millisecond(void)
{
	struct timespec ms = { 0, 1000000 };
	nanosleep(&ms, NULL);
}

static void poll_timerfd(void)
{
	struct itimerspec each = { { 0, 1000000 }, { 0, 1000000 } };
	unsigned long long ticks;
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	if (timer < 0 || timerfd_settime(timer, 0, &each, NULL) < 0)
		exit(3);
	while (!atomic_load(&done))
		if (read(timer, &ticks, sizeof ticks) < 0)
			exit(3);
}

/* What a runtime does that wants to look at its state now and then: nobody signals it. */
static void poll_condvar(void)
{
	pthread_mutex_lock(&lock);
	while (!atomic_load(&done)) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 1000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&never, &lock, &until);
	}
	pthread_mutex_unlock(&lock);
}

static void poll_child(double length)
{
	pid_t child = fork();
	if (child == 0) {
		compute(length);
		_exit(0);
	}
	while (waitpid(child, NULL, WNOHANG) == 0)
		a_millisecond();
}

static void own_clock(void)
{
	struct rusage self, children;
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	struct timeval all[] = { self.ru_utime, self.ru_stime, children.ru_utime, children.ru_stime };
	long long ns = 0;
	for (int i = 0; i < 4; i++)
		ns += all[i].tv_sec * 1000000000LL + all[i].tv_usec * 1000LL;
	printf("own cpu_ns %lld\n", ns);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	double length = atof(argv[2]);
	pthread_t thread;
	if (!strcmp(argv[1], "waitpid")) {
		poll_child(length);
		own_clock();
		return 0;
	}
	pthread_create(&thread, NULL, worker, &length);
	if (!strcmp(argv[1], "nanosleep"))
		while (!atomic_load(&done))
			a_millisecond();
	else if (!strcmp(argv[1], "timerfd"))
		poll_timerfd();
	else if (!strcmp(argv[1], "condvar"))
		poll_condvar();
	else if (!strcmp(argv[1], "spin"))
		while (!atomic_load(&done))
			;
	else
		return 2;
	pthread_join(thread, NULL);
	own_clock();
	return 0;
}
