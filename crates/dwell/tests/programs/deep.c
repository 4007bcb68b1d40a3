/* A recursion so deep that no copy of the stack holds it, or as deep as asked. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((noinline, noclone)) static uint64_t bottom(void)
{
    for (uint64_t from = cpu_ns(); cpu_ns() - from < 300000000;)
        for (int i = 0; i < 100000; i++)
            sink += (uint64_t)i;
    return sink;
}

__attribute__((noinline, noclone)) static uint64_t descend(long levels)
{
    volatile char room[64];
    room[0] = (char)levels;
    return (levels ? descend(levels - 1) : bottom()) + (uint64_t)room[0];
}

int main(int count, char **arguments)
{
    printf("%d\n", descend(count > 1 ? atol(arguments[1]) : 10000) == 1);
    return 0;
}
