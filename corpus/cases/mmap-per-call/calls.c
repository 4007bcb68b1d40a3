// Two workers, each with a fresh stack from mmap for every call, or one that is kept.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE (256 << 10)
static int fresh;

static void use(volatile char *p) {
    for (int i = 0; i < SIZE; i += 4096) p[i]++;
}

static void call(char **kept) {
    char *p = *kept;
    if (!p) p = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    use(p);
    if (fresh) munmap(p, SIZE);
    else *kept = p;
}

static void *worker(void *a) {
    char *kept = 0;
    for (int i = 0; i < 1500; i++) call(&kept);
    return a;
}

int main(int argc, char **argv) {
    pthread_t t[2];
    fresh = argc > 1 && !strcmp(argv[1], "fresh");
    for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, worker, 0);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    puts("done");
}
