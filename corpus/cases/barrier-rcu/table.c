// A table of routes that readers read without a lock. The writer replaces 110 routes; after each
// it waits until no reader can still see the old one.
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct route { unsigned net, hop; };
static struct route *table[256];
static unsigned long found;

static void *reader(void *none) {
    (void)none;
    for (unsigned i = 0, x = 1; i < 60000000; i++) {
        x = x * 1664525 + 1013904223;
        found += __atomic_load_n(&table[x >> 24], __ATOMIC_RELAXED)->net == (x >> 24);
    }
    return 0;
}

static void wait_for_readers(int cmd) {
    if (syscall(SYS_membarrier, cmd, 0, 0)) { perror("membarrier"); exit(1); }
}

int main(int argc, char **argv) {
    int cmd = MEMBARRIER_CMD_GLOBAL;
    if (argc > 1 && !strcmp(argv[1], "expedited")) {
        cmd = MEMBARRIER_CMD_PRIVATE_EXPEDITED;
        wait_for_readers(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    }
    for (unsigned i = 0; i < 256; i++) {
        table[i] = malloc(sizeof *table[i]);
        *table[i] = (struct route){i, 0};
    }
    pthread_t t;
    pthread_create(&t, 0, reader, 0);
    for (unsigned i = 0; i < 110; i++) {
        struct route *new = malloc(sizeof *new), *old = table[i];
        *new = (struct route){i, 1};
        __atomic_store_n(&table[i], new, __ATOMIC_RELEASE);
        wait_for_readers(cmd);
        free(old);
    }
    pthread_join(t, 0);
    printf("%lu\n", found);
}
