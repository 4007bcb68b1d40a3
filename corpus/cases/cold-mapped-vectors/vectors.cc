// Sums 900 vectors of a file of 80 MB, which is mapped for access in random order.
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static const long size = 80L << 20, one = 16384;

static unsigned long sum(const unsigned char *v) {
    unsigned long n = 0;
    for (long i = 0; i < one; i += 64) n += v[i];
    return n;
}

static int make() {
    static char b[1 << 20];
    int fd = open("big.vec", O_CREAT | O_WRONLY | O_TRUNC, 0644);
    for (long at = 0; at < size; at += sizeof b) {
        memset(b, at >> 20, sizeof b);
        if (write(fd, b, sizeof b) < 0) return 1;
    }
    return fsync(fd);
}

int main(int argc, char **argv) {
    if (!strcmp(argv[1], "make")) return make();
    bool ask = !strcmp(argv[1], "ask");
    int fd = open("big.vec", O_RDONLY);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    auto *m = (unsigned char *)mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    madvise(m, size, MADV_RANDOM);
    unsigned long n = 0;
    for (long i = 0; i < 900; i++) {
        unsigned char *v = m + i * 2017 % (size / one) * one;
        if (ask) madvise(v, one, MADV_WILLNEED);
        n += sum(v);
    }
    printf("%lu\n", n);
}
