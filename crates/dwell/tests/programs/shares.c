/* Three functions with known shares of the CPU, at the end of a chain of calls: each works until the thread's own
   clock says that it has had its share, and the program prints what it measured. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define APART __attribute__((noinline, noclone))

static volatile uint64_t sink;

APART static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

APART static uint64_t add_up(uint64_t value)
{
    for (int i = 0; i < 200000; i++)
        value += value ^ (uint64_t)i; /* line of add_up */
    return value;
}

APART static uint64_t multiply(uint64_t value)
{
    for (int i = 0; i < 200000; i++)
        value = value * 6364136223846793005u + (uint64_t)i; /* line of multiply */
    return value;
}

APART static uint64_t divide(uint64_t value)
{
    for (int i = 0; i < 50000; i++)
        value += (value | 1u << 31) / ((value & 1023) + 3); /* line of divide */
    return value;
}

typedef uint64_t (*work)(uint64_t);

/* What stands before and after the call in each keeps it from being a jump. */
APART static uint64_t innermost(work what)
{
    return what(sink) ^ 1;
}

APART static uint64_t middle(work what)
{
    uint64_t value = innermost(what);
    sink = value;
    return value + 2;
}

APART static uint64_t outer(work what, uint64_t until_ns)
{
    uint64_t from = cpu_ns(), now;
    do {
        sink += middle(what);
        now = cpu_ns();
    } while (now - from < until_ns);
    return now - from;
}

int main(void)
{
    uint64_t begun = cpu_ns();
    uint64_t added = outer(add_up, 500000000), multiplied = outer(multiply, 300000000),
             divided = outer(divide, 200000000);
    printf("{\"program\":\"shares\",\"ns\":{\"add_up\":%llu,\"multiply\":%llu,\"divide\":%llu,\"all\":%llu}}\n",
           (unsigned long long)added, (unsigned long long)multiplied, (unsigned long long)divided,
           (unsigned long long)(cpu_ns() - begun));
    return 0;
}
