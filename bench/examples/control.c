// A control loop of 200 Hz that shares a lock with a logger: `cc -O1 -g -pthread -o control
// control.c`, `./control CYCLES`. Each 97th cycle has more to compute, and four times a second the
// logger keeps the lock for 12 ms.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static double now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec + at.tv_nsec / 1e9;
}

__attribute__((noinline)) static void compute(double seconds)
{
	double end = now() + seconds;
	volatile double value = 1;
	while (now() < end)
		for (int i = 0; i < 1000; i++)
			value *= 1.0001;
}

__attribute__((noinline)) static void publish(double seconds)
{
	pthread_mutex_lock(&lock);
	compute(seconds);
	pthread_mutex_unlock(&lock);
}

static void *logger(void *unused)
{
	struct timespec pause = { 0, 250000000 };
	pthread_setname_np(pthread_self(), "logger");
	for (;;) {
		nanosleep(&pause, NULL);
		publish(0.012);
	}
	return unused;
}

int main(int count, char **words)
{
	pthread_t thread;
	struct timespec next;
	pthread_create(&thread, NULL, logger, NULL);
	pthread_setname_np(pthread_self(), "control");
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (int cycle = 0; cycle < (count > 1 ? atoi(words[1]) : 1000); cycle++) {
		next.tv_nsec += 5000000;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		compute(cycle % 97 == 50 ? 0.006 : 0.0008);
		publish(0.0001);
	}
	return 0;
}
