// Reads records in an order that no read-ahead foresees; "ahead" asks for all of them first.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SIZE (96L << 20)
#define N 3500
static int fd;

static long place(int i) { return i * 40503L % (SIZE / 4096) * 4096; }

static int record(int i) {
    unsigned char b[512];
    if (pread(fd, b, sizeof b, place(i)) != sizeof b) perror("pread");
    return b[7];
}

static void make(void) {
    static char b[1 << 20];
    fd = open("big.db", O_CREAT | O_WRONLY | O_TRUNC, 0644);
    for (long at = 0; at < SIZE; at += sizeof b) {
        memset(b, at >> 20, sizeof b);
        if (write(fd, b, sizeof b) < 0) perror("write");
    }
    fsync(fd);
    close(fd);
}

int main(int argc, char **argv) {
    if (!strcmp(argv[1], "make")) { make(); return 0; }
    long sum = 0;
    fd = open("big.db", O_RDONLY);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    for (int i = 0; i < N && !strcmp(argv[1], "ahead"); i++)
        posix_fadvise(fd, place(i), 4096, POSIX_FADV_WILLNEED);
    for (int i = 0; i < N; i++) sum += record(i);
    printf("%ld\n", sum);
}
