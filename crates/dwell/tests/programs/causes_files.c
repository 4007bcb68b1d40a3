/* Causes of files, pipes and sleeps, each beside the same work without it: causes_files WAY PATH COUNT.
 *
 *   each-synced, each-durable | synced-once    COUNT records, each confirmed by the disk, or all at once
 *   journal | journal-once                     COUNT records likewise, each after 20 writes to a log that nobody syncs
 *   missing | listed                           whether COUNT names are in a directory
 *   again | kept                               how large a file is, COUNT times: opened each time or once
 *   by-bytes, by-64 | by-blocks                a file is copied
 *   files | packed                             COUNT small files are read, ten times each; or one with all of them
 *   random | ahead                             COUNT pages of a file are read past the cache
 *   stream | cached                            a file is read COUNT times by four threads, past the cache or not
 *   polls | waits                              COUNT children, one after the other
 *   polls-thread | joins                       the same with threads
 *   paces                                      COUNT sleeps beside a thread that works now and then
 *   reads                                      standard input, to its end
 *   make                                       what `files` and `packed` read
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SMALL 2000
#define LARGE (1 << 20)
#define THREADS 4

static char block[LARGE] __attribute__((aligned(4096)));
static const char *path;
static long count;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int opened(const char *name, int flags)
{
    int file = open(name, flags, 0600);
    if (file < 0)
        fail(name);
    return file;
}

static long cpu_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

__attribute__((noinline)) static void work(long ms)
{
    volatile unsigned value = 1;
    for (long until = cpu_ms(CLOCK_THREAD_CPUTIME_ID) + ms; cpu_ms(CLOCK_THREAD_CPUTIME_ID) < until;)
        for (int i = 0; i < 100000; i++)
            value = value * 13 + 7;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, 0);
}

static void records(int flags, int every)
{
    int file = opened(path, O_WRONLY | O_CREAT | O_TRUNC | flags);
    for (long i = 1; i <= count; i++) {
        if (write(file, block, 100) < 0)
            fail("write");
        if (every && i % every == 0 && fsync(file))
            fail("fsync");
    }
    unlink(path);
}

static void journal(int flags)
{
    char log_path[4096];
    snprintf(log_path, sizeof log_path, "%s-log", path);
    int log = opened(log_path, O_WRONLY | O_CREAT | O_TRUNC);
    int file = opened(path, O_WRONLY | O_CREAT | O_TRUNC | flags);
    for (long i = 0; i < count; i++) {
        for (int j = 0; j < 20; j++)
            if (write(log, block, SMALL) < 0)
                fail("log");
        if (write(file, block, 100) < 0)
            fail("write");
    }
    if (!flags && fsync(file))
        fail("fsync");
    unlink(log_path);
    unlink(path);
}

static void missing(void)
{
    char name[4096];
    struct stat found;
    for (long i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s/no/%ld", path, i);
        if (!stat(name, &found))
            fail(name);
    }
}

static void listed(void)
{
    char name[4096];
    long there = 0;
    DIR *list = opendir(path);
    for (struct dirent *entry; list && (entry = readdir(list));)
        there += strlen(entry->d_name);
    for (long i = 0; i < count; i++)
        there += snprintf(name, sizeof name, "%s/no/%ld", path, i);
}

static long bytes_of(int file)
{
    struct stat found;
    if (fstat(file, &found))
        fail("fstat");
    return found.st_size;
}

static void again(void)
{
    for (long i = 0; i < count; i++) {
        int file = opened(path, O_RDONLY);
        if (!bytes_of(file))
            fail(path);
        close(file);
    }
}

static void kept(void)
{
    int file = opened(path, O_RDONLY);
    for (long i = 0; i < count; i++)
        if (!bytes_of(file))
            fail(path);
}

static void copied(size_t size)
{
    char out[4096];
    snprintf(out, sizeof out, "%s.copy", path);
    int from = opened(path, O_RDONLY), to = opened(out, O_WRONLY | O_CREAT | O_TRUNC);
    for (ssize_t got; (got = read(from, block, size)) > 0;)
        if (write(to, block, got) != got)
            fail("write");
    unlink(out);
}

static void make(void)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/packed", path);
    int packed = opened(name, O_WRONLY | O_CREAT | O_TRUNC);
    for (long i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s/%ld", path, i);
        int file = opened(name, O_WRONLY | O_CREAT | O_TRUNC);
        if (write(file, block, SMALL) != SMALL || write(packed, block, SMALL) != SMALL)
            fail("write");
        close(file);
    }
}

static void files(void)
{
    char name[4096];
    struct stat found;
    for (long i = 0; i < 10 * count; i++) {
        snprintf(name, sizeof name, "%s/%ld", path, i % count);
        int file = opened(name, O_RDONLY);
        if (fstat(file, &found) || read(file, block, LARGE) != SMALL || read(file, block, LARGE))
            fail(name);
        close(file);
    }
}

static void packed(void)
{
    int file = opened(path, O_RDONLY);
    for (int i = 0; i < 10; i++) {
        lseek(file, 0, SEEK_SET);
        while (read(file, block, 65536) > 0) {
        }
    }
}

static void scattered(long size, long each)
{
    int file = opened(path, O_RDONLY | O_DIRECT);
    long blocks = lseek(file, 0, SEEK_END) / size;
    for (long i = 0; i < count / each; i++)
        if (pread(file, block, size, (each == 1 ? i * 7919 : i) % blocks * size) != size)
            fail("pread");
}

static int flags;
static void *part(void *number)
{
    char *own;
    int file = opened(path, O_RDONLY | flags);
    if (posix_memalign((void **)&own, 4096, LARGE))
        fail("memory");
    for (long times = 0; times < count; times++)
        for (off_t at = (long)number * LARGE; pread(file, own, LARGE, at) > 0; at += THREADS * LARGE) {
        }
    return 0;
}

static void stream(int with)
{
    pthread_t threads[THREADS];
    flags = with;
    for (long i = 0; i < THREADS; i++)
        pthread_create(threads + i, 0, part, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
}

static void children(int polls)
{
    for (long i = 0; i < count; i++) {
        pid_t child = fork();
        if (!child) {
            work(20);
            _exit(0);
        }
        if (!polls)
            waitpid(child, 0, 0);
        else
            while (!waitpid(child, 0, WNOHANG))
                pause_ms(50);
    }
}

static int done;
static void *works(void *ms)
{
    work((long)ms);
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    return 0;
}

static void threads(int polls)
{
    for (long i = 0; i < count; i++) {
        pthread_t thread;
        __atomic_store_n(&done, 0, __ATOMIC_RELEASE);
        pthread_create(&thread, 0, works, (void *)60);
        while (polls && !__atomic_load_n(&done, __ATOMIC_ACQUIRE))
            pause_ms(50);
        pthread_join(thread, 0);
    }
}

static void paces(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, works, (void *)40);
    for (long i = 0; i < count; i++)
        pause_ms(20);
    pthread_join(thread, 0);
}

static void reads(void)
{
    while (read(0, block, 65536) > 0)
        work(1);
}

int main(int arguments, char **given)
{
    const char *way = arguments > 1 ? given[1] : "";
    path = arguments > 2 ? given[2] : ".";
    count = arguments > 3 ? atol(given[3]) : 1;
    const struct {
        const char *name;
        void (*call)(void);
    } plain[] = {{"missing", missing}, {"listed", listed}, {"files", files}, {"packed", packed},
                 {"make", make},       {"paces", paces},   {"reads", reads}, {"again", again},
                 {"kept", kept}};
    const struct {
        const char *name;
        void (*call)(int);
        int with;
    } others[] = {{"polls", children, 1},   {"waits", children, 0}, {"polls-thread", threads, 1},
                  {"joins", threads, 0},    {"stream", stream, O_DIRECT}, {"cached", stream, 0},
                  {"journal", journal, O_DSYNC}, {"journal-once", journal, 0}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!strcmp(way, plain[i].name))
            return plain[i].call(), 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(way, others[i].name))
            return others[i].call(others[i].with), 0;
    if (!strcmp(way, "each-synced"))
        records(0, 1);
    else if (!strcmp(way, "each-durable"))
        records(O_DSYNC, 0);
    else if (!strcmp(way, "synced-once"))
        records(0, count);
    else if (!strcmp(way, "by-bytes"))
        copied(1);
    else if (!strcmp(way, "by-64"))
        copied(64);
    else if (!strcmp(way, "by-blocks"))
        copied(65536);
    else if (!strcmp(way, "random"))
        scattered(4096, 1);
    else if (!strcmp(way, "ahead"))
        scattered(LARGE, LARGE / 4096);
    else
        return 2;
    return 0;
}
