// One thread uploads (computes), the other collects its results.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static unsigned long results[40];
static int done;

static void *uploader(void *a) {
    for (int i = 0; i < 40; i++) {
        unsigned long x = i;
        for (int k = 0; k < 12000000; k++) x = x * 6364136223846793005UL + 1;
        pthread_mutex_lock(&m);
        results[done++] = x;
        pthread_cond_signal(&more);
        pthread_mutex_unlock(&m);
    }
    return a;
}

static unsigned long collect(int i, int by_yield) {
    pthread_mutex_lock(&m);
    while (done <= i) {
        if (!by_yield) { pthread_cond_wait(&more, &m); continue; }
        pthread_mutex_unlock(&m);
        sched_yield();
        pthread_mutex_lock(&m);
    }
    unsigned long x = results[i];
    pthread_mutex_unlock(&m);
    return x;
}

int main(int argc, char **argv) {
    int by_yield = argc > 1 && !strcmp(argv[1], "yield");
    unsigned long sum = 0;
    pthread_t t;
    pthread_create(&t, 0, uploader, 0);
    for (int i = 0; i < 40; i++) sum += collect(i, by_yield);
    pthread_join(t, 0);
    printf("%lu\n", sum);
}
