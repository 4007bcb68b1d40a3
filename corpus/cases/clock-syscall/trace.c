// Stamps a million events.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int call = argc > 1 && !strcmp(argv[1], "call");
    struct timespec t, last = {0};
    int back = 0;
    for (int i = 0; i < 2000000; i++) {
        if (call) syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
        else clock_gettime(CLOCK_MONOTONIC, &t);
        back += t.tv_sec < last.tv_sec;
        last = t;
    }
    printf("%d\n", back);
}
