// Four threads choose a partition for six million messages each.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int shared;

static int partition(unsigned *seed) { return (shared ? rand() : rand_r(seed)) % 12; }

static void *worker(void *sum) {
    unsigned seed = 1;
    unsigned long n = 0;
    for (int i = 0; i < 6000000; i++) n += partition(&seed) < 12;
    *(unsigned long *)sum = n;
    return 0;
}

int main(int argc, char **argv) {
    pthread_t t[4];
    unsigned long sums[4], all = 0;
    shared = argc > 1 && !strcmp(argv[1], "shared");
    for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, worker, &sums[i]);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0), all += sums[i];
    printf("%lu\n", all);
}
