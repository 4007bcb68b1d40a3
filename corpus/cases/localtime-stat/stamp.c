// Stamps 300,000 log lines with the local time.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void stamp(char *b, size_t n, time_t t) {
    strftime(b, n, "%Y-%m-%d %H:%M:%S", localtime(&t));
}

int main(void) {
    char b[64];
    unsigned long sum = 0;
    if (getenv("TZ") && !*getenv("TZ")) unsetenv("TZ");
    for (int i = 0; i < 300000; i++) {
        stamp(b, sizeof b, 1700000000 + i);
        sum += b[18];
    }
    printf("%lu\n", sum);
}
