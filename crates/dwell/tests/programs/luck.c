/* Programs that do to dwell what programs may do: trace, close everything, use numbers again, step the clock, die in the
   middle of a call; and plain waits, for others to look at too. Each says on one line, as JSON, what its own clock saw. The first argument says which. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MUST(what)                                                                                             \
    do {                                                                                                       \
        if (!(what)) {                                                                                         \
            dprintf(2, "luck: line %d: %s: %s\n", __LINE__, #what, strerror(errno));                            \
            _exit(99);                                                                                         \
        }                                                                                                      \
    } while (0)

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static void pause_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, 0);
}

/* On a CPU for so long, by the thread's own clock. */
static uint64_t spin_ms(uint64_t ms)
{
    uint64_t from = read_clock(CLOCK_THREAD_CPUTIME_ID), now;
    do
        now = read_clock(CLOCK_THREAD_CPUTIME_ID);
    while (now - from < ms * 1000000);
    return now - from;
}

static uint64_t ended(pid_t child)
{
    int status;
    pid_t found = waitpid(child, &status, 0);
    MUST(found > 0 && (child < 0 || found == child));
    return (uint64_t)status;
}

/* A tracer steps its child instruction by instruction, and keeps it stopped for 2 ms after each. Then the child sleeps. */
static void steps(void)
{
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        pause_ms(100);
        _exit(3);
    }
    int status;
    uint64_t held = 0;
    MUST(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
    for (int step = 0; step < 60; step++) {
        uint64_t from = now_ns();
        pause_ms(2);
        held += now_ns() - from;
        MUST(ptrace(PTRACE_SINGLESTEP, child, 0, 0) == 0);
        MUST(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
    }
    MUST(ptrace(PTRACE_CONT, child, 0, 0) == 0);
    uint64_t from = now_ns();
    MUST(WEXITSTATUS(ended(child)) == 3);
    printf("{\"program\":\"steps\",\"ns\":{\"held\":%lu,\"rest\":%lu},\"ids\":{\"tracer\":%d,\"child\":%d},\"counts\":{\"steps\":60}}\n",
           held, now_ns() - from, getpid(), child);
}

/* Closes whatever is open, also what it did not open, and goes on. Says so in a file. */
static void closes(const char *path)
{
    MUST(syscall(SYS_close_range, 0u, ~0u, 0u) == 0);
    uint64_t from = now_ns();
    pause_ms(60);
    uint64_t slept = now_ns() - from;
    /* The numbers from 0 on are free now. */
    int ends[2];
    MUST(pipe(ends) == 0 && ends[0] == 0 && ends[1] == 1);
    pid_t child = fork();
    if (child == 0) {
        pause_ms(50);
        _exit(write(1, "x", 1) == 1 ? 0 : 9);
    }
    char byte;
    from = now_ns();
    MUST(read(0, &byte, 1) == 1);
    uint64_t read_ns = now_ns() - from;
    MUST(ended(child) == 0);
    int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    MUST(file == 2);
    dprintf(file, "{\"program\":\"closes\",\"ns\":{\"slept\":%lu,\"read\":%lu},\"ids\":{\"child\":%d},\"counts\":{}}\n", slept,
            read_ns, child);
    _exit(7);
}

/* ---- one number, many things ------------------------------------------------------------------------------- */

enum { ROUNDS = 8, KINDS = 3 };
struct numbers {
    int number;      /* that everything gets */
    long late_ms[2]; /* when a pipe is fed, and a socket */
    const char *file;
    uint64_t ns[KINDS];
    int tid;
};

struct late {
    int to;
    long ms;
};

static void *feeds(void *at)
{
    struct late *late = at;
    pause_ms(late->ms);
    MUST(write(late->to, "x", 1) == 1);
    return 0;
}

/* Gives the thing the number and reads from it, with somebody who feeds it late. */
static uint64_t reads(int number, int thing, size_t size, int feed, long late_ms)
{
    static _Thread_local char block[1 << 20] __attribute__((aligned(4096)));
    pthread_t feeder;
    struct late late = {feed, late_ms};
    MUST(dup2(thing, number) == number && close(thing) == 0);
    if (feed >= 0)
        MUST(pthread_create(&feeder, 0, feeds, &late) == 0);
    uint64_t from = now_ns();
    MUST(read(number, block, size) == (ssize_t)size);
    uint64_t ns = now_ns() - from;
    if (feed >= 0) {
        MUST(pthread_join(feeder, 0) == 0);
        close(feed);
    }
    close(number);
    return ns;
}

static void *uses_numbers(void *at)
{
    struct numbers *mine = at;
    int two[2];
    mine->tid = gettid();
    for (int round = 0; round < ROUNDS; round++) {
        MUST(pipe(two) == 0);
        mine->ns[0] += reads(mine->number, two[0], 1, two[1], mine->late_ms[0]);
        MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, two) == 0);
        mine->ns[1] += reads(mine->number, two[0], 1, two[1], mine->late_ms[1]);
        int file = open(mine->file, O_RDONLY | O_DIRECT);
        MUST(file >= 0);
        mine->ns[2] += reads(mine->number, file, 1 << 20, -1, 0);
    }
    return 0;
}

static void numbers(const char *one, const char *other)
{
    struct numbers mine[2] = {{100, {12, 7}, one, {0}, 0}, {101, {5, 9}, other, {0}, 0}};
    pthread_t second;
    /* The table of descriptors has to grow for these numbers. Shared by threads, that waits for all processors. */
    MUST(dup2(1, mine[1].number) == mine[1].number && close(mine[1].number) == 0);
    MUST(pthread_create(&second, 0, uses_numbers, &mine[1]) == 0);
    uses_numbers(&mine[0]);
    MUST(pthread_join(second, 0) == 0);
    printf("{\"program\":\"numbers\",\"ns\":{\"pipe\":%lu,\"socket\":%lu,\"file_0\":%lu,\"file_1\":%lu},\"ids\":{},\"counts\":{\"rounds\":%d}}\n",
           mine[0].ns[0] + mine[1].ns[0], mine[0].ns[1] + mine[1].ns[1], mine[0].ns[2], mine[1].ns[2], 2 * ROUNDS);
}

/* ---- clocks and numbers of processes ----------------------------------------------------------------------- */

/* Steps the wall clock by so many seconds, whatever it says. */
static void step_s(long s)
{
    struct timespec now;
    MUST(clock_gettime(CLOCK_REALTIME, &now) == 0);
    now.tv_sec += s;
    MUST(clock_settime(CLOCK_REALTIME, &now) == 0);
}

/* The clock is an hour slow for a moment: never fast, since files would be from the future, which build tools do not
   forgive. It is stepped both ways, each in the middle of a wait. */
static void *steps_the_clock(void *late)
{
    pause_ms(40);
    step_s(-3600);
    pause_ms(20);
    step_s(3600);
    return late;
}

static void clock_steps(void)
{
    pthread_t stepper;
    struct timespec real;
    MUST(pthread_create(&stepper, 0, steps_the_clock, 0) == 0);
    uint64_t from = now_ns();
    pause_ms(200);
    uint64_t slept = now_ns() - from;
    MUST(pthread_join(stepper, 0) == 0);
    clock_gettime(CLOCK_REALTIME, &real);
    uint64_t worked = spin_ms(50);
    printf("{\"program\":\"clock\",\"ns\":{\"slept\":%lu,\"worked\":%lu},\"ids\":{\"self\":%d},\"counts\":{\"unix_s\":%ld}}\n", slept,
           worked, getpid(), real.tv_sec);
}

static pid_t fork_as(pid_t wanted)
{
    FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");
    MUST(last && fprintf(last, "%d", wanted - 1) > 0 && fclose(last) == 0);
    pid_t child = fork();
    MUST(child == 0 || child == wanted);
    return child;
}

/* Two children, one after the other, with one number. */
static void twins(void)
{
    enum { NUMBER = 300 };
    uint64_t from = now_ns();
    if (fork_as(NUMBER) == 0) {
        prctl(PR_SET_NAME, "sleeper");
        pause_ms(120);
        _exit(0);
    }
    MUST(ended(NUMBER) == 0);
    uint64_t slept = now_ns() - from;
    if (fork_as(NUMBER) == 0) {
        prctl(PR_SET_NAME, "worker");
        spin_ms(80);
        _exit(0);
    }
    MUST(ended(NUMBER) == 0);
    printf("{\"program\":\"twins\",\"ns\":{\"slept\":%lu,\"worked\":80000000},\"ids\":{\"both\":%d,\"parent\":%d},\"counts\":{}}\n", slept,
           NUMBER, getpid());
}

/* ---- crowds, names and deaths ------------------------------------------------------------------------------ */

/* Many children that live at one time, until the last is there. */
static void crowd(int many)
{
    int gate[2];
    MUST(pipe(gate) == 0);
    for (int made = 0; made < many; made++) {
        pid_t child = fork();
        MUST(child >= 0);
        if (child == 0) {
            char byte;
            close(gate[1]);
            _exit(read(gate[0], &byte, 1) == 0 ? 0 : 9);
        }
    }
    close(gate[0]);
    pause_ms(30);
    close(gate[1]);
    for (int made = 0; made < many; made++)
        MUST(ended(-1) == 0);
    printf("{\"program\":\"crowd\",\"ns\":{},\"ids\":{},\"counts\":{\"children\":%d}}\n", many);
}

static const char *self;

static void *executes(void *gate)
{
    pthread_barrier_wait(gate);
    execl(self, "raced", "after", (char *)0);
    return 0;
}

/* Threads that all execute at one time: one does, and the process is its from then on. */
static void race(void)
{
    pthread_barrier_t gate;
    pthread_t other;
    pthread_barrier_init(&gate, 0, 4);
    for (int made = 0; made < 4; made++)
        MUST(pthread_create(&other, 0, executes, &gate) == 0);
    for (;;)
        pause();
}

static void after(void)
{
    uint64_t from = now_ns();
    pause_ms(80);
    printf("{\"program\":\"after\",\"ns\":{\"slept\":%lu},\"ids\":{\"self\":%d},\"counts\":{}}\n", now_ns() - from, getpid());
}

/* Killed in the middle of a call, by a thread of its own: nothing of it returns. */
static void *kills(void *none)
{
    pause_ms(150);
    kill(getpid(), SIGKILL);
    return none;
}

static void killed(void)
{
    int ends[2];
    char byte;
    pthread_t killer;
    MUST(pipe(ends) == 0);
    printf("{\"program\":\"killed\",\"ns\":{},\"ids\":{\"self\":%d},\"counts\":{}}\n", getpid());
    fflush(stdout);
    MUST(pthread_create(&killer, 0, kills, 0) == 0);
    MUST(read(ends[0], &byte, 1) == 99);
}

/* Waits in three calls, each with lengths of its own, and says how many. */
static void calls(void)
{
    enum { EACH = 10 };
    static int word = 1;
    struct timespec wait = {0, 12000000};
    uint64_t ns[3] = {0}, from;
    for (int turn = 0; turn < EACH; turn++) {
        from = now_ns();
        pause_ms(turn % 2 ? 6 : 24);
        ns[0] += now_ns() - from;
        from = now_ns();
        MUST(poll(0, 0, 12) == 0);
        ns[1] += now_ns() - from;
        from = now_ns();
        MUST(syscall(SYS_futex, &word, 128 /* FUTEX_WAIT_PRIVATE */, 1, &wait, 0, 0) == -1 && errno == ETIMEDOUT);
        ns[2] += now_ns() - from;
    }
    printf("{\"program\":\"calls\",\"ns\":{\"clock_nanosleep\":%lu,\"poll\":%lu,\"futex\":%lu},\"ids\":{\"self\":%d},\"counts\":{\"each\":%d}}\n",
           ns[0], ns[1], ns[2], getpid(), EACH);
}

/* Pauses for ten milliseconds, again and again, for as long as it is left alone. */
static void pauses(void)
{
    for (;;)
        pause_ms(10);
}

/* Who it is, and that it waited and worked as itself. */
static void who(void)
{
    uint64_t from = now_ns();
    pause_ms(150);
    uint64_t slept = now_ns() - from;
    printf("{\"program\":\"who\",\"ns\":{\"slept\":%lu,\"worked\":%lu},\"ids\":{\"real\":%d,\"effective\":%d},\"counts\":{}}\n", slept,
           spin_ms(100), getuid(), geteuid());
}

int main(int count, char **words)
{
    const char *which = count > 1 ? words[1] : "";
    self = "/proc/self/exe";
    if (!strcmp(which, "steps"))
        steps();
    else if (!strcmp(which, "closes"))
        closes(words[2]);
    else if (!strcmp(which, "numbers"))
        numbers(words[2], words[3]);
    else if (!strcmp(which, "clock"))
        clock_steps();
    else if (!strcmp(which, "twins"))
        twins();
    else if (!strcmp(which, "crowd"))
        crowd(atoi(words[2]));
    else if (!strcmp(which, "race"))
        race();
    else if (!strcmp(which, "after"))
        after();
    else if (!strcmp(which, "killed"))
        killed();
    else if (!strcmp(which, "calls"))
        calls();
    else if (!strcmp(which, "pauses"))
        pauses();
    else if (!strcmp(which, "who"))
        who();
    else
        return 98;
    return 0;
}
