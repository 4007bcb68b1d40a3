// Computes while a timer of real time interrupts it every N microseconds.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile unsigned long ticks;
static void tick(int s) { ticks += s > 0; }

int main(int argc, char **argv) {
    int us = argc > 1 ? atoi(argv[1]) : 25;
    struct itimerval t = {{0, us}, {0, us}};
    unsigned long x = 1;
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &t, 0);
    for (long i = 0; i < 150000000; i++) x = x * 6364136223846793005UL + 1;
    printf("%lu\n", x);
}
