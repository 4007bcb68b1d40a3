/* Has io_uring read, one request at a time: from a pipe that another process fills late, then from a file, past the page
   cache. With raw system calls, so that it needs no library. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIECE (1 << 20)

static int ring, by_worker;
static struct io_uring_params params;
static char *submitted, *completed;
static struct io_uring_sqe *entries;

static void must(int so, const char *what)
{
    if (!so) {
        perror(what);
        exit(1);
    }
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static unsigned *word(char *of, unsigned at)
{
    return (unsigned *)(of + at);
}

static char *map(size_t size, uint64_t what)
{
    char *at = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, (off_t)what);
    must(at != MAP_FAILED, "mmap");
    return at;
}

static void set_up(unsigned flags)
{
    params.flags = flags;
    ring = (int)syscall(SYS_io_uring_setup, 4, &params);
    must(ring >= 0, "io_uring_setup");
    submitted = map(params.sq_off.array + params.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
    completed = map(params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
    entries = (void *)map(params.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
}

static int reads(int fd, void *to, unsigned length, uint64_t at)
{
    unsigned *tail = word(submitted, params.sq_off.tail), index = *tail & *word(submitted, params.sq_off.ring_mask);
    struct io_uring_sqe *entry = &entries[index];
    memset(entry, 0, sizeof *entry);
    entry->opcode = IORING_OP_READ;
    entry->flags = by_worker ? IOSQE_ASYNC : 0;
    entry->fd = fd;
    entry->addr = (uintptr_t)to;
    entry->len = length;
    entry->off = at;
    word(submitted, params.sq_off.array)[index] = index;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    must(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) >= 0, "io_uring_enter");
    unsigned *head = word(completed, params.cq_off.head), mask = *word(completed, params.cq_off.ring_mask);
    struct io_uring_cqe *result = (struct io_uring_cqe *)(completed + params.cq_off.cqes) + (*head & mask);
    int got = result->res;
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    return got;
}

int main(int count, char **arguments)
{
    int ends[2], file;
    char byte;
    void *piece;
    must(count == 3 && !pipe(ends), "FLAGS|worker FILE");
    by_worker = !strcmp(arguments[1], "worker");
    set_up(by_worker ? 0 : (unsigned)strtoul(arguments[1], 0, 0));
    if (!fork()) {
        for (int i = 0; i < 10; i++) {
            usleep(20000);
            must(write(ends[1], "x", 1) == 1, "write");
        }
        _exit(0);
    }
    uint64_t begun = now_ns();
    for (int i = 0; i < 10; i++)
        must(reads(ends[0], &byte, 1, -1ull) == 1, "a byte from the pipe");
    uint64_t waited = now_ns() - begun;
    wait(0);
    must(!posix_memalign(&piece, 4096, PIECE), "memory");
    file = open(arguments[2], O_RDONLY | O_DIRECT);
    must(file >= 0, arguments[2]);
    for (uint64_t at = 0; reads(file, piece, PIECE, at) > 0; at += PIECE)
        ;
    printf("{\"program\":\"ring\",\"ns\":{\"pipe\":%llu}}\n", (unsigned long long)waited);
    return 0;
}
