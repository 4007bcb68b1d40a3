/* System calls and their cost: calls sleeps|polls|many|faults|spin|fsync|records|files|cold|compat
 * [PATH]. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

__attribute__((noinline)) static unsigned spin(long ms)
{
    volatile unsigned value = 1;
    for (long until = now_ms() + ms; now_ms() < until;)
        for (int i = 0; i < 20000; i++)
            value = value * 13 + 7;
    return value;
}

static void many(long ms)
{
    char byte;
    int zero = open("/dev/zero", O_RDONLY);
    for (long until = now_ms() + ms; now_ms() < until;)
        for (int i = 0; i < 1000; i++)
            if (read(zero, &byte, 1) < 1)
                return;
}

static void faults(void)
{
    size_t size = 24 << 20;
    char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, size, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < size; at += 4096)
        memory[at] = 1;
    munmap(memory, size);
}

static void synced(const char *path)
{
    static char block[65536];
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < 6; i++)
        if (write(file, block, sizeof block) < 0 || fsync(file))
            break;
    unlink(path);
}

static void records(const char *path)
{
    char record[200] = {0};
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < 60; i++)
        if (write(file, record, sizeof record) < 0 || fsync(file))
            break;
    unlink(path);
}

static void files(const char *directory)
{
    char path[256];
    for (int i = 0; i < 100; i++) {
        snprintf(path, sizeof path, "%s.%d", directory, i);
        int file = open(path, O_WRONLY | O_CREAT, 0600);
        if (write(file, path, strlen(path)) < 0)
            break;
        close(file);
        unlink(path);
    }
}

static void cold(const char *path)
{
    static char block[65536];
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < 32; i++)
        if (write(file, block, sizeof block) < 0)
            break;
    fsync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    for (int i = 31; i >= 0; i -= 4)
        if (pread(file, block, 4096, i * 65536L) < 0)
            break;
    char *mapped = mmap(0, 32 * sizeof block, PROT_READ, MAP_SHARED, file, 0);
    madvise(mapped, 32 * sizeof block, MADV_RANDOM);
    for (int i = 2; i < 32; i += 4)
        block[i] = *(volatile char *)(mapped + i * 65536L);
    unlink(path);
}

/* i386 numbers from 64-bit code: nanosleep is 162 and takes 32-bit times below 4 GB. */
static void compat(void)
{
#ifdef __x86_64__
    int *time = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    for (int i = 0; i < 5; i++) {
        long result;
        time[0] = 0, time[1] = 4000000;
        __asm__ volatile("int $0x80" : "=a"(result) : "0"(162L), "b"(time), "c"(0L)
                         : "memory", "r8", "r9", "r10", "r11");
    }
#endif
}

int main(int count, char **args)
{
    const char *what = count > 1 ? args[1] : "", *path = count > 2 ? args[2] : "scratch";
    if (!strcmp(what, "sleeps"))
        for (int i = 0; i < 5; i++)
            nanosleep(&(struct timespec){0, 5000000}, 0);
    else if (!strcmp(what, "polls"))
        for (int i = 0; i < 5; i++)
            poll(0, 0, 5);
    else if (!strcmp(what, "many"))
        many(600);
    else if (!strcmp(what, "faults"))
        faults();
    else if (!strcmp(what, "records"))
        records(path);
    else if (!strcmp(what, "fsync"))
        synced(path);
    else if (!strcmp(what, "files"))
        files(path);
    else if (!strcmp(what, "cold"))
        cold(path);
    else if (!strcmp(what, "compat"))
        compat();
    else
        spin(count > 2 ? atol(args[2]) : 60);
    return 0;
}
