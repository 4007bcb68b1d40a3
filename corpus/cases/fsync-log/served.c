// Serves 300 requests with a log line for each; the log is synced every N lines.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fd, lines, every;

static void log_message(const char *s) {
    if (write(fd, s, strlen(s)) < 0) perror("write");
    if (++lines % every == 0) fsync(fd);
}

int main(int argc, char **argv) {
    char b[100];
    unsigned int x = 1;
    every = argc > 1 ? atoi(argv[1]) : 1;
    fd = open("server.log", O_CREAT | O_WRONLY | O_TRUNC, 0644);
    for (int i = 0; i < 300; i++) {
        for (int k = 0; k < 100000; k++) x = x * 1664525 + 1013904223;
        snprintf(b, sizeof b, "GET /page/%d %u\n", i, x);
        log_message(b);
    }
    close(fd);
    printf("%u\n", x);
}
