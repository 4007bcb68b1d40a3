/* Programs of which the processor's counters are known: what is retired is written in assembly.
 *
 *   counted registers ROUNDS   `alpha` (15,001 instructions) and `beta` (5,002), in turns
 *   counted calls ROUNDS       `alpha` of 301, then a call of the kernel
 *   counted threads ROUNDS     a thread does `beta`s only, twice as many as fit beside the first
 *
 * It prints what plain counters of its own counted meanwhile, in user mode and in the kernel: what
 * is told of samples can be held against them. */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__aarch64__)
#define LOOP "1: subs %0, %0, #1\n b.ne 1b\n"
#define LOOP_OF_THREE "1: nop\n subs %0, %0, #1\n b.ne 1b\n"
#else
#define LOOP "1: sub $1, %0\n jnz 1b\n"
#define LOOP_OF_THREE "1: nop\n sub $1, %0\n jnz 1b\n"
#endif

__attribute__((noinline)) void alpha(unsigned long n) { __asm__ volatile(LOOP : "+r"(n)); }

__attribute__((noinline)) void beta(unsigned long n) { __asm__ volatile(LOOP_OF_THREE : "+r"(n)); }

static int counter(unsigned long config, int of_kernel) {
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.type = PERF_TYPE_HARDWARE;
    attr.size = sizeof(attr);
    attr.config = config;
    attr.exclude_kernel = !of_kernel;
    attr.exclude_user = of_kernel;
    attr.exclude_hv = 1;
    attr.inherit = 1;
    return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static long long counted(int counter) {
    long long value = -1;
    if (read(counter, &value, sizeof(value)) != sizeof(value))
        return -1;
    return value;
}

static void *other(void *rounds) {
    for (long left = (long)rounds; left > 0; left--)
        beta(5000);
    return NULL;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "registers";
    long rounds = argc > 2 ? atol(argv[2]) : 1000;
    int of[4];
    for (int at = 0; at < 4; at++)
        of[at] = counter(at / 2 ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_HW_INSTRUCTIONS, at % 2);
    if (strcmp(what, "calls") == 0) {
        for (long left = rounds; left > 0; left--) {
            alpha(150);
            syscall(SYS_getppid);
        }
    } else if (strcmp(what, "threads") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, other, (void *)(2 * rounds)))
            return 1;
        for (long left = rounds; left > 0; left--)
            alpha(7500);
        pthread_join(thread, NULL);
    } else {
        for (long left = rounds; left > 0; left--) {
            alpha(7500);
            beta(1667);
        }
    }
    printf("instructions: user %lld kernel %lld; cycles: user %lld kernel %lld\n", counted(of[0]),
           counted(of[1]), counted(of[2]), counted(of[3]));
    return 0;
}
