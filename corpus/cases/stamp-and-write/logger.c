// Logs 150,000 lines.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void log_line(FILE *f, int i) {
    char b[64];
    time_t t = 1700000000 + i;
    strftime(b, sizeof b, "%H:%M:%S", localtime(&t));
    fprintf(f, "%s request %d was served\n", b, i);
}

int main(int argc, char **argv) {
    FILE *f = fopen("app.log", "w");
    if (argc > 1 && !strcmp(argv[1], "line")) {
        setvbuf(f, 0, _IOLBF, 4096);
        unsetenv("TZ");
    }
    for (int i = 0; i < 150000; i++) log_line(f, i);
    printf("%ld\n", ftell(f));
}
