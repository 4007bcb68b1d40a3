// Two processes fit 25 trees each; the features of a tree are shared by THREADS threads.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define FEATURES 12
static int threads;
static atomic_int here, turn;
static unsigned long best[FEATURES];

static void barrier(void) {
    int now = turn;
    if (atomic_fetch_add(&here, 1) == threads - 1) {
        here = 0;
        turn++;
        return;
    }
    while (turn == now) {}
}

static void *tree(void *arg) {
    long t = (long)arg;
    for (int n = 0; n < 25; n++) {
        for (int f = t; f < FEATURES; f += threads) {
            unsigned long x = f + n;
            for (int i = 0; i < 400000; i++) x = x * 6364136223846793005UL + 1;
            best[f] ^= x;
        }
        barrier();
    }
    return 0;
}

int main(void) {
    const char *e = getenv("THREADS");
    threads = e ? atoi(e) : 1;
    int child = fork();
    pthread_t t[16];
    for (long i = 0; i < threads; i++) pthread_create(&t[i], 0, tree, (void *)i);
    for (int i = 0; i < threads; i++) pthread_join(t[i], 0);
    if (!child) return 0;
    wait(0);
    printf("%lx\n", best[3]);
}
