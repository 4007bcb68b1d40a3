/* Waits of different kinds, each from a function of its own: a sleep, a lock that another thread holds, a pipe that
   another thread fills late, and many short turns between two processes. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pause_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, 0);
}

APART static int waits_for_the_clock(void)
{
    pause_ms(200);
    return printf(" ");
}

static void *holds_the_lock(void *at)
{
    pthread_mutex_lock(&lock);
    pthread_barrier_wait(at);
    pause_ms(150);
    pthread_mutex_unlock(&lock);
    return 0;
}

APART static int waits_for_the_lock(void)
{
    pthread_mutex_lock(&lock);
    return pthread_mutex_unlock(&lock);
}

static void *fills_the_pipe(void *none)
{
    pause_ms(120);
    if (write(ends[1], "x", 1) != 1)
        abort();
    return none;
}

APART static int waits_for_the_pipe(void)
{
    char byte;
    if (read(ends[0], &byte, 1) != 1)
        abort();
    return byte;
}

APART static void serves(int to, int from)
{
    char byte = 0;
    if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1)
        abort();
}

APART static void returns(int to, int from)
{
    char byte;
    while (read(from, &byte, 1) == 1)
        if (write(to, &byte, 1) != 1)
            abort();
}

static void plays(long turns)
{
    int there[2], back[2];
    if (pipe(there) || pipe(back))
        abort();
    if (!fork()) {
        close(there[1]);
        close(back[0]);
        returns(back[1], there[0]);
        _exit(0);
    }
    close(there[0]);
    close(back[1]);
    for (long i = 0; i < turns; i++)
        serves(there[1], back[0]);
    close(there[1]);
    wait(0);
}

static pthread_barrier_t taken;

APART static void lets_go_late(void)
{
    pthread_mutex_lock(&lock);
    pthread_barrier_wait(&taken);
    pause_ms(40);
    if (pthread_mutex_unlock(&lock))
        abort();
}

APART static void lets_go_soon(void)
{
    pthread_mutex_lock(&lock);
    pthread_barrier_wait(&taken);
    pause_ms(8);
    if (pthread_mutex_unlock(&lock))
        abort();
}

static void *holds_in_turn(void *late)
{
    pthread_setname_np(pthread_self(), late ? "late" : "soon");
    for (int i = 0; i < 5; i++) {
        if (late)
            lets_go_late();
        else
            lets_go_soon();
        /* The other has it now, and says when it is done. */
        pthread_barrier_wait(&taken);
    }
    return 0;
}

/* How long it waited, all in all, for a lock that a thread took five times and let go each time from one place. */
static uint64_t waits_for(void *late)
{
    pthread_t holder;
    uint64_t waited = 0;
    pthread_create(&holder, 0, holds_in_turn, late);
    for (int i = 0; i < 5; i++) {
        pthread_barrier_wait(&taken);
        uint64_t begun = now_ns();
        waits_for_the_lock();
        waited += now_ns() - begun;
        pthread_barrier_wait(&taken);
    }
    pthread_join(holder, 0);
    return waited;
}

int main(int count, char **arguments)
{
    if (count > 1 && !strcmp(arguments[1], "locks")) {
        pthread_barrier_init(&taken, 0, 2);
        uint64_t late = waits_for("late"), soon = waits_for(0);
        printf("{\"program\":\"waits\",\"ns\":{\"late\":%llu,\"soon\":%llu}}\n", (unsigned long long)late,
               (unsigned long long)soon);
        return 0;
    }
    pthread_t holder, filler;
    pthread_barrier_t held;
    uint64_t begun, slept, locked, read, played;
    setvbuf(stdout, 0, _IOFBF, 1 << 16);
    if (count > 1) {
        begun = now_ns();
        plays(atol(arguments[1]));
        played = now_ns() - begun;
        printf("{\"program\":\"waits\",\"ns\":{\"played\":%llu}}\n", (unsigned long long)played);
        return 0;
    }
    begun = now_ns();
    waits_for_the_clock();
    slept = now_ns() - begun;
    pthread_barrier_init(&held, 0, 2);
    pthread_create(&holder, 0, holds_the_lock, &held);
    pthread_barrier_wait(&held);
    begun = now_ns();
    waits_for_the_lock();
    locked = now_ns() - begun;
    pthread_join(holder, 0);
    if (pipe(ends))
        abort();
    pthread_create(&filler, 0, fills_the_pipe, 0);
    begun = now_ns();
    waits_for_the_pipe();
    read = now_ns() - begun;
    pthread_join(filler, 0);
    printf("{\"program\":\"waits\",\"ns\":{\"slept\":%llu,\"locked\":%llu,\"read\":%llu}}\n",
           (unsigned long long)slept, (unsigned long long)locked, (unsigned long long)read);
    return 0;
}
