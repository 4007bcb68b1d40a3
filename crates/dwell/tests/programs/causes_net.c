/* Threads and one lock: causes_net inside|outside sleep|work TIMES. Each sleeps or works so often, in the lock or not.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int inside, sleeps, times;
static volatile uint64_t sum;

static void step(void)
{
    if (sleeps) {
        nanosleep(&(struct timespec){0, 5000000}, 0);
    } else {
        uint64_t x = 1;
        for (int i = 0; i < 3000000; i++)
            x = x * 6364136223846793005u + 1;
        sum += x;
    }
}

static void *work(void *unused)
{
    for (int i = 0; i < times; i++) {
        if (!inside)
            step();
        pthread_mutex_lock(&lock);
        if (inside)
            step();
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(int count, char **args)
{
    pthread_t threads[3];
    if (count < 4)
        return 2;
    inside = !strcmp(args[1], "inside");
    sleeps = !strcmp(args[2], "sleep");
    times = atoi(args[3]);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    return 0;
}
