/* Two threads that work on one queue under one lock, for longer than they work apart: a program that its lock makes
   serial. Each item takes CPU time, not wall-clock time, so that a busy machine does not shorten the work. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { ITEMS = 30, HELD_NS = 4000000, APART_NS = 200000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int left = ITEMS;

static long long cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void work(long long ns)
{
    for (long long from = cpu_ns(); cpu_ns() - from < ns;)
        for (volatile int i = 0; i < 20000; i++)
            ;
}

static void *take(void *taken)
{
    for (int more = 1; more;) {
        pthread_mutex_lock(&lock);
        more = left > 0;
        if (more) {
            left--;
            ++*(int *)taken;
            work(HELD_NS);
        }
        pthread_mutex_unlock(&lock);
        work(APART_NS);
    }
    return taken;
}

int main(void)
{
    pthread_t threads[2];
    int taken[2] = {0};
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, take, &taken[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    printf("%d %d\n", taken[0], taken[1]);
    return taken[0] + taken[1] == ITEMS ? 0 : 1;
}
