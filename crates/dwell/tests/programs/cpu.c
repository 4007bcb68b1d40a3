// Programs whose time goes to one known cause, and the same programs without it: `cpu WHAT [AMOUNT]`.
// Each does the same work with and without; amounts are counts, not durations.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile uint64_t sink;

// So many rounds of arithmetic that nothing can shorten; a million take about a millisecond.
__attribute__((noinline)) static void compute(uint64_t rounds) {
    uint64_t x = 88172645463325252u;
    for (uint64_t i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    sink = x;
}

// ---- hot code: keys are looked up one by one, or in order

static uint32_t *keys;
static size_t many;

__attribute__((noinline)) static size_t scan(uint32_t key) {
    size_t found = 0;
    for (size_t i = 0; i < many; i++) {
        if (keys[i] == key) found = i; // the hot line
    }
    return found;
}

static int by_key(const void *a, const void *b) {
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return (one > other) - (one < other);
}

__attribute__((noinline)) static size_t halve(uint32_t key) {
    return (uint32_t *)bsearch(&key, keys, many, sizeof *keys, by_key) - keys;
}

static void search(size_t (*find)(uint32_t), size_t times) {
    many = 20000;
    keys = malloc(many * sizeof *keys);
    for (size_t i = 0; i < many; i++) keys[i] = 7 * i;
    size_t sum = 0;
    for (size_t i = 0; i < times; i++) sum += find(7 * (i * 7919 % many));
    sink = sum;
}

// ---- allocation: small blocks made and freed for each item, or kept

enum { BATCH = 64 };

__attribute__((noinline)) static void blocks(uint64_t items, int reuse) {
    char *kept[BATCH] = {0};
    for (uint64_t i = 0; i < items; i++) {
        for (int k = 0; k < BATCH; k++) {
            if (!kept[k]) kept[k] = malloc(24 + 8 * (i + k) % 128);
            kept[k][0] = k;
        }
        for (int k = 0; k < BATCH && !reuse; k++) {
            free(kept[(k * 29) % BATCH]);
            kept[(k * 29) % BATCH] = NULL;
        }
    }
    sink = kept[0] ? kept[0][0] : 0;
}

// ---- page faults: memory given back and asked for again, or kept

__attribute__((noinline)) static void pages(uint64_t times, int reuse) {
    enum { BYTES = 1 << 20 };
    char *area = NULL;
    for (uint64_t i = 0; i < times; i++) {
        if (!area) area = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (size_t at = 0; at < BYTES; at += 256) area[at] = i;
        if (!reuse) {
            munmap(area, BYTES);
            area = NULL;
        }
    }
}

// ---- memory latency: each address is known when the last load is there

// A ring of lines, each with a pointer to the next: in the order of their addresses, or shuffled.
__attribute__((noinline)) static void **linked(size_t bytes, int shuffled) {
    size_t lines = bytes / 64;
    void **memory = aligned_alloc(4096, bytes);
    uint32_t *order = malloc(lines * sizeof *order);
    for (size_t i = 0; i < lines; i++) order[i] = i;
    uint64_t x = 88172645463325252u;
    for (size_t i = lines - 1; shuffled && i > 0; i--) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        size_t other = x % i;
        uint32_t kept = order[i];
        order[i] = order[other], order[other] = kept;
    }
    for (size_t i = 0; i < lines; i++) memory[order[i] * 8] = &memory[order[(i + 1) % lines] * 8];
    free(order);
    return memory;
}

__attribute__((noinline)) static void chase(uint64_t steps, void **at) {
    for (uint64_t i = 0; i < steps; i++) at = *at; // the load that waits
    sink = (uint64_t)at;
}

// Places of a table, each added to a sum.
__attribute__((noinline)) static uint64_t look_up(const uint64_t *table, const uint32_t *places, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += table[places[i]];
    return sum;
}

// Of 256 MiB, anywhere or in order.
static void table(uint64_t rounds, int in_order) {
    enum { ITEMS = 32 << 20, LOOK_UPS = 1 << 20 };
    uint64_t *items = malloc(ITEMS * sizeof *items);
    uint32_t *places = malloc(LOOK_UPS * sizeof *places);
    for (size_t i = 0; i < ITEMS; i++) items[i] = i;
    uint64_t sum = 0, x = 88172645463325252u;
    for (uint64_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < LOOK_UPS; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            places[i] = in_order ? i * (ITEMS / LOOK_UPS) + x % (ITEMS / LOOK_UPS) : x % ITEMS;
        }
        sum += look_up(items, places, LOOK_UPS);
    }
    sink = sum;
}

// One pass after another through an array.
__attribute__((noinline)) static void stream(uint64_t rounds, size_t bytes) {
    uint64_t *items = malloc(bytes), sum = 0;
    for (size_t i = 0; i < bytes / 8; i++) items[i] = i;
    for (uint64_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < bytes / 8; i++) sum += items[i] * round;
    }
    sink = sum;
}

// ---- memory that does not suffice: pages all over 32 MiB, in a group that may have less

__attribute__((noinline)) static void places(uint64_t touches) {
    enum { BYTES = 32 << 20 };
    char *area = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(area, BYTES, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < BYTES; at += 4096) area[at] = 1;
    uint64_t x = 88172645463325252u;
    for (uint64_t i = 0; i < touches; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        area[x % BYTES]++;
    }
}

// ---- hand-overs: two processes take turns, with so many items in each

static void turns(uint64_t items, size_t together) {
    int there[2], back[2];
    if (pipe(there) || pipe(back)) exit(1);
    char item[4096];
    memset(item, 1, sizeof item);
    pid_t child = fork();
    if (child == 0) {
        close(there[1]), close(back[0]);
        for (ssize_t got; (got = read(there[0], item, sizeof item)) > 0;) {
            if (write(back[1], item, got) != got) exit(1);
        }
        exit(0);
    }
    close(there[0]), close(back[1]);
    for (uint64_t done = 0; done < items; done += together) {
        if (write(there[1], item, together) != (ssize_t)together) exit(1);
        for (size_t got = 0; got < together;) {
            ssize_t more = read(back[0], item, together - got);
            if (more <= 0) exit(1);
            got += more;
        }
    }
    close(there[1]);
    waitpid(child, NULL, 0);
}

// ---- spinning: as many threads as there are CPUs look whether another one is done, or sleep

static atomic_int done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *works(void *rounds) {
    compute(*(uint64_t *)rounds);
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *yields(void *unused) {
    while (!done) sched_yield();
    return unused;
}

static void *polls(void *unused) {
    while (!done) poll(NULL, 0, 0);
    return unused;
}

static void *sleeps(void *unused) {
    pthread_mutex_lock(&lock);
    while (!done) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *pauses(void *unused) {
    while (!done) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    }
    return unused;
}

static void wait_by(void *(*way)(void *), uint64_t rounds) {
    enum { MOST = 64 };
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t worker, waiting[MOST];
    for (long i = 0; i < cpus && i < MOST; i++) pthread_create(&waiting[i], NULL, way, NULL);
    pthread_create(&worker, NULL, works, &rounds);
    for (long i = 0; i < cpus && i < MOST; i++) pthread_join(waiting[i], NULL);
    pthread_join(worker, NULL);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    uint64_t amount = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
#define IS(name, otherwise) (strcmp(what, name) == 0 ? (amount = amount ? amount : (otherwise), 1) : 0)
    if (IS("compute", 300)) compute(amount * 1000000);
    else if (IS("scan", 60000)) search(scan, amount);
    else if (IS("halve", 60000)) search(halve, amount);
    else if (IS("blocks", 500000)) blocks(amount, 0);
    else if (IS("blocks-kept", 500000)) blocks(amount, 1);
    else if (IS("pages", 2000)) pages(amount, 0);
    else if (IS("pages-kept", 2000)) pages(amount, 1);
    else if (IS("chase", 10000000)) chase(amount, linked(64 << 20, 1));
    else if (IS("chase-in-order", 10000000)) chase(amount, linked(64 << 20, 0));
    else if (IS("chase-near", 10000000)) chase(amount, linked(16 << 10, 1));
    else if (IS("table", 200)) table(amount, 0);
    else if (IS("table-in-order", 200)) table(amount, 1);
    else if (IS("stream", 50)) stream(amount, 64 << 20);
    else if (IS("places", 3000)) places(amount);
    else if (IS("turns", 30000)) turns(amount, 1);
    else if (IS("turns-together", 30000)) turns(amount, 100);
    else if (IS("yields", 300)) wait_by(yields, amount * 1000000);
    else if (IS("polls", 300)) wait_by(polls, amount * 1000000);
    else if (IS("pauses", 300)) wait_by(pauses, amount * 1000000);
    else if (IS("sleeps", 300)) wait_by(sleeps, amount * 1000000);
    else return fprintf(stderr, "usage: cpu WHAT [AMOUNT]\n"), 2;
    return 0;
}
