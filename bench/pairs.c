/* Programs in pairs: `pairs NAME slow` does something in a slow way, `pairs NAME fixed` does the
 * same work without it. `cargo xtask bench predictions` holds what dwell predicts of the first
 * against what the second really takes. `pairs server` is the peer of those that need one: it
 * listens on loopback, prints its port, and answers each request of 8 bytes with 8 bytes, after the
 * number of microseconds that the request holds; it ends with its standard input. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int port;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* Work that no compiler leaves out: about 1 ms for each million rounds. */
static volatile uint64_t sink;
static void __attribute__((noinline)) compute(long rounds) {
    uint64_t x = 88172645463325252u;
    for (long i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    sink = x;
}

static void sleep_us(long us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    while (nanosleep(&time, &time) && errno == EINTR) {
    }
}

static int temporary(const char *name) {
    int fd = open(name, O_CREAT | O_TRUNC | O_RDWR, 0600);
    if (fd < 0) fail(name);
    unlink(name);
    return fd;
}

/* Records that are confirmed one by one, or all together. */
static void syncs(int slow) {
    int fd = temporary("pairs.records");
    char record[200];
    memset(record, 'x', sizeof record);
    for (int i = 0; i < 400; i++) {
        compute(100000);
        if (write(fd, record, sizeof record) != sizeof record) fail("write");
        if (slow && fdatasync(fd)) fail("fdatasync");
    }
    if (!slow && fdatasync(fd)) fail("fdatasync");
}

/* Sixteen bytes a call, or 64 KiB. */
static void small_writes(int slow) {
    int fd = temporary("pairs.bytes");
    static char block[65536];
    size_t bytes = slow ? 16 : sizeof block;
    for (size_t done = 0; done < (8 << 20); done += bytes) {
        if (write(fd, block, bytes) != (ssize_t)bytes) fail("write");
    }
}

/* Looks for each of many files in places where they are not. */
static void lookups(int slow) {
    char path[64];
    struct stat st;
    for (int i = 0; i < 60000; i++) {
        for (int place = 0; slow && place < 8; place++) {
            snprintf(path, sizeof path, "/usr/lib/place%d/module%d.so", place, i % 500);
            if (!stat(path, &st)) fail("there is one");
        }
        compute(1000);
    }
}

/* Threads that wait for something while they have a lock, or not. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int held;
static void *locker(void *none) {
    for (int i = 0; i < 40; i++) {
        if (held) pthread_mutex_lock(&lock);
        sleep_us(3000);
        if (held) pthread_mutex_unlock(&lock);
        compute(300000);
    }
    return none;
}
static void locks(int slow) {
    pthread_t threads[3];
    held = slow;
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, locker, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
}

/* Looks every 100 ms whether a child has ended, or waits for it. */
static void polls(int slow) {
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (!child) {
            compute(40000000);
            _exit(0);
        }
        while (waitpid(child, NULL, slow ? WNOHANG : 0) == 0) sleep_us(100000);
    }
}

/* A process for each item. */
static void spawns(int slow) {
    for (int i = 0; i < 150; i++) {
        if (slow) {
            pid_t child = fork();
            if (!child) {
                execl("/bin/true", "true", NULL);
                _exit(1);
            }
            waitpid(child, NULL, 0);
        }
        compute(300000);
    }
}

/* Processes one after another, or two at a time. */
static void list(int slow) {
    for (int i = 0; i < 8; i += slow ? 1 : 2) {
        for (int at = 0; at < (slow ? 1 : 2); at++) {
            if (!fork()) {
                compute(50000000);
                _exit(0);
            }
        }
        while (wait(NULL) > 0) {
        }
    }
}

/* Memory that is given back and taken again, or kept. */
static void faults(int slow) {
    const size_t size = 8 << 20;
    char *kept = NULL;
    for (int i = 0; i < 60; i++) {
        char *memory = kept;
        if (!memory) {
            memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (memory == MAP_FAILED) fail("mmap");
            madvise(memory, size, MADV_NOHUGEPAGE);
        }
        for (size_t at = 0; at < size; at += 4096) memory[at] = (char)i;
        compute(1000000);
        if (slow) munmap(memory, size);
        else kept = memory;
    }
}

/* One byte to another process and back for each item, or for each hundred. */
static void switches(int slow) {
    int there[2], back[2];
    if (pipe(there) || pipe(back)) fail("pipe");
    int items = 60000, each = slow ? 1 : 100;
    char bytes[100] = {0};
    pid_t child = fork();
    if (!child) {
        for (int i = 0; i < items / each; i++) {
            if (read(there[0], bytes, each) != each || write(back[1], bytes, each) != each) _exit(1);
        }
        _exit(0);
    }
    for (int i = 0; i < items / each; i++) {
        compute(2000L * each);
        if (write(there[1], bytes, each) != each || read(back[0], bytes, each) != each) fail("pipe");
    }
    waitpid(child, NULL, 0);
}

static int connected(void) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (void *)&to, sizeof to)) fail("connect");
    return fd;
}

static void take(int fd, uint64_t *answer) {
    if (recv(fd, answer, sizeof *answer, MSG_WAITALL) != sizeof *answer) fail("recv");
}

/* Requests one after the other, or eight at a time. */
static void requests(int slow) {
    int fds[8], many = slow ? 1 : 8, one = 1;
    uint64_t us = 3000, answer;
    for (int i = 0; i < many; i++) {
        fds[i] = connected();
        setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
    for (int i = 0; i < 160; i += many) {
        for (int at = 0; at < many; at++) {
            if (write(fds[at], &us, sizeof us) != sizeof us) fail("write");
        }
        for (int at = 0; at < many; at++) take(fds[at], &answer);
    }
}

/* A request in two parts, or in one. */
static void parts(int slow) {
    int fd = connected();
    uint64_t us = 0, answer;
    for (int i = 0; i < 20; i++) {
        if (slow) {
            if (write(fd, &us, 4) != 4 || write(fd, (char *)&us + 4, 4) != 4) fail("write");
        } else if (write(fd, &us, 8) != 8) fail("write");
        take(fd, &answer);
        compute(1000000);
    }
}

/* A function that looks for each item from the beginning, or goes on from the last. */
static int items[20000];
static int __attribute__((noinline)) find(int item) {
    int at = 0;
    while (items[at] != item) at++;
    return at;
}
static void scans(int slow) {
    for (int i = 0; i < 20000; i++) items[i] = i;
    uint64_t sum = 0;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 20000; i++) {
            sum += slow ? find(i) : i;
            compute(3000);
        }
    }
    sink = sum;
}

/* Records that are linked in no order, or in that of their addresses. */
struct record {
    struct record *next;
    uint64_t value[7];
};
static uint64_t __attribute__((noinline)) follow(const struct record *at, long count) {
    uint64_t sum = 0;
    for (long i = 0; i < count; i++) {
        sum += at->value[0];
        at = at->next;
    }
    return sum;
}
static void chase(int slow) {
    enum { RECORDS = 1 << 20 };
    struct record *all = malloc(RECORDS * sizeof *all);
    int *order = malloc(RECORDS * sizeof *order);
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < RECORDS; i++) order[i] = i;
    for (int i = RECORDS - 1; slow && i > 0; i--) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        int other = x % i, kept = order[i];
        order[i] = order[other], order[other] = kept;
    }
    for (int i = 0; i < RECORDS; i++) {
        all[order[i]].next = &all[order[(i + 1) % RECORDS]];
        all[order[i]].value[0] = i;
    }
    sink = follow(all, 12 * RECORDS);
}

static void *serve(void *connection) {
    int fd = (int)(intptr_t)connection;
    uint64_t us;
    while (recv(fd, &us, sizeof us, MSG_WAITALL) == sizeof us) {
        if (us) sleep_us((long)us);
        if (write(fd, &us, sizeof us) != sizeof us) break;
    }
    close(fd);
    return NULL;
}

static void *until_the_end(void *none) {
    char byte;
    while (read(0, &byte, 1) > 0) {
    }
    exit(0);
    return none;
}

static void server(void) {
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    pthread_t thread;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (void *)&at, size) || listen(fd, 64)) fail("listen");
    getsockname(fd, (void *)&at, &size);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    pthread_create(&thread, NULL, until_the_end, NULL);
    for (;;) {
        int one = accept(fd, NULL, NULL);
        if (one >= 0) pthread_create(&thread, NULL, serve, (void *)(intptr_t)one);
    }
}

static const struct {
    const char *name;
    void (*run)(int slow);
} pairs[] = {
    {"syncs", syncs},       {"small-writes", small_writes}, {"lookups", lookups}, {"locks", locks},
    {"polls", polls},       {"spawns", spawns},             {"list", list}, {"faults", faults},
    {"switches", switches}, {"requests", requests},         {"parts", parts},     {"scans", scans},
    {"chase", chase},
};

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "server")) server();
    if (argc < 3) {
        fprintf(stderr, "usage: pairs NAME slow|fixed [PORT], or pairs server\n");
        return 2;
    }
    port = argc > 3 ? atoi(argv[3]) : 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (!strcmp(argv[1], pairs[i].name)) {
            pairs[i].run(!strcmp(argv[2], "slow"));
            return 0;
        }
    }
    fprintf(stderr, "pairs: there is no %s\n", argv[1]);
    return 2;
}
