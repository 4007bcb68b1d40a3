/* A thread holds a mutex for 50 ms at a time, computing; main wants it too. */
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void *holder(void *unused)
{
	for (int i = 0; i < 4; i++) {
		pthread_mutex_lock(&lock);
		for (double end = now() + 0.05; now() < end;)
			;
		pthread_mutex_unlock(&lock);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, 0);
	}
	return unused;
}

int main(void)
{
	pthread_t thread;
	pthread_create(&thread, 0, holder, 0);
	for (int i = 0; i < 4; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, 0);
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
	return pthread_join(thread, 0);
}
