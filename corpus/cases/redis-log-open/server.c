// Serves 20,000 commands and logs each; the log is flushed after each message both ways.
#include <stdio.h>
#include <string.h>

static FILE *kept;

static void server_log(const char *s) {
    FILE *f = kept ? kept : fopen("server.log", "a");
    fputs(s, f);
    if (kept) fflush(f);
    else fclose(f);
}

static unsigned long serve(unsigned long x) {
    for (int i = 0; i < 30000; i++) x = x * 6364136223846793005UL + 1;
    return x;
}

int main(int argc, char **argv) {
    char b[100];
    unsigned long x = 1;
    remove("server.log");
    if (argc > 1 && !strcmp(argv[1], "kept")) kept = fopen("server.log", "a");
    for (int i = 0; i < 20000; i++) {
        x = serve(x);
        snprintf(b, sizeof b, "command %d gave %lu\n", i, x);
        server_log(b);
    }
    printf("%lu\n", x);
}
