// Writes 64 MiB of state four times, or all once and then what has changed.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE (64L << 20)
#define PART (4L << 20)
static char *state;
static int fd;

static void checkpoint(long from, long to) {
    for (long at = from; at < to; at += PART)
        if (pwrite(fd, state + at, PART, at) != PART) perror("write");
    if (fsync(fd)) perror("fsync");
}

int main(int argc, char **argv) {
    int all = argc > 1 && !strcmp(argv[1], "all");
    state = malloc(SIZE);
    memset(state, 1, SIZE);
    fd = open("state.bin", O_CREAT | O_RDWR | O_TRUNC, 0644);
    checkpoint(0, SIZE);
    for (int r = 1; r < 4; r++) {
        memset(state, r, PART);
        checkpoint(0, all ? SIZE : PART);
    }
    close(fd);
    puts("saved");
}
