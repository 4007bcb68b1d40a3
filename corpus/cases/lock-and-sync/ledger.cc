// Four threads append 40 records each; a sync for each record, or one for all at the end.
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

static std::mutex m;
static int fd;
static bool each;

static void append(const char *s) {
    std::lock_guard l(m);
    if (write(fd, s, strlen(s)) < 0) perror("write");
    if (each) fdatasync(fd);
}

static void account(int n) {
    char b[80];
    unsigned long x = n;
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 200000; k++) x = x * 6364136223846793005UL + 1;
        snprintf(b, sizeof b, "account %d record %d %lu\n", n, i, x);
        append(b);
    }
}

int main(int argc, char **argv) {
    each = argc > 1 && !strcmp(argv[1], "each");
    fd = open("ledger.log", O_CREAT | O_WRONLY | O_TRUNC | O_APPEND, 0644);
    std::vector<std::thread> ts;
    for (int n = 0; n < 4; n++) ts.emplace_back(account, n);
    for (auto &t : ts) t.join();
    fdatasync(fd);
    printf("%ld\n", (long)lseek(fd, 0, SEEK_END));
}
