// Ten batches of 30 ms; the main thread looks for the end of each at least every 100 ms.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int done, quiet;
static unsigned long x = 1;

static void *batch(void *a) {
    for (int i = 0; i < 30000000; i++) x = x * 6364136223846793005UL + 1;
    pthread_mutex_lock(&m);
    done = 1;
    if (!quiet) pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    return a;
}

static void wait_done(void) {
    pthread_mutex_lock(&m);
    while (!done) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_nsec += 100000000;
        if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
        pthread_cond_timedwait(&c, &m, &t);
    }
    done = 0;
    pthread_mutex_unlock(&m);
}

int main(int argc, char **argv) {
    pthread_t t;
    quiet = argc > 1 && !strcmp(argv[1], "quiet");
    for (int i = 0; i < 10; i++) {
        pthread_create(&t, 0, batch, 0);
        wait_done();
        pthread_join(t, 0);
    }
    printf("%lu\n", x);
}
