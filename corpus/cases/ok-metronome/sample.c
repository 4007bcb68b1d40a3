// Takes 20 samples, one every 50 ms, by an absolute clock.
#include <stdio.h>
#include <time.h>

int main(void) {
    struct timespec t;
    unsigned long sum = 0;
    clock_gettime(CLOCK_MONOTONIC, &t);
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 1000; k++) sum = sum * 31 + k;
        t.tv_nsec += 50000000;
        if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
    }
    printf("%lu\n", sum);
}
