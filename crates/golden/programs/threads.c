/* Threads and what they wait for: threads mutex|condvar|timed|join|eventfd. Each takes some 30 ms.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int items, event;

static void rest(int ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000L}, 0);
}

static void *hold(void *unused)
{
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&lock);
        rest(6);
        pthread_mutex_unlock(&lock);
        rest(1);
    }
    return unused;
}

static void *produce(void *unused)
{
    for (int i = 0; i < 5; i++) {
        rest(5);
        pthread_mutex_lock(&lock);
        items++;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void consume(void)
{
    pthread_mutex_lock(&lock);
    for (int taken = 0; taken < 5; taken++) {
        while (!items)
            pthread_cond_wait(&changed, &lock);
        items--;
    }
    pthread_mutex_unlock(&lock);
}

static void time_out(void)
{
    struct timespec until;
    for (int i = 0; i < 3; i++) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 8000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&lock);
        while (pthread_cond_timedwait(&changed, &lock, &until) != ETIMEDOUT)
            ;
        pthread_mutex_unlock(&lock);
    }
}

static void *notify(void *unused)
{
    uint64_t one = 1;
    for (int i = 0; i < 5; i++) {
        rest(5);
        if (write(event, &one, sizeof one) < 0)
            break;
    }
    return unused;
}

static void *nap(void *ms)
{
    rest((int)(intptr_t)ms);
    return 0;
}

int main(int count, char **args)
{
    const char *what = count > 1 ? args[1] : "";
    pthread_t one, two;
    if (!strcmp(what, "mutex")) {
        pthread_create(&one, 0, hold, 0);
        rest(2);
        hold(0);
        pthread_join(one, 0);
    } else if (!strcmp(what, "condvar")) {
        pthread_create(&one, 0, produce, 0);
        consume();
        pthread_join(one, 0);
    } else if (!strcmp(what, "timed")) {
        time_out();
    } else if (!strcmp(what, "eventfd")) {
        uint64_t value;
        event = eventfd(0, 0);
        pthread_create(&one, 0, notify, 0);
        for (int i = 0; i < 5; i++)
            if (read(event, &value, sizeof value) < 0)
                return 1;
        pthread_join(one, 0);
    } else {
        pthread_create(&one, 0, nap, (void *)8);
        pthread_create(&two, 0, nap, (void *)25);
        pthread_join(one, 0);
        pthread_join(two, 0);
    }
    return 0;
}
