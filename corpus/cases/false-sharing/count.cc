// Two threads count, each in a counter of its own: next to each other, or lines apart.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

struct alignas(64) Stats {
    std::atomic<unsigned long> near[2];
    alignas(128) std::atomic<unsigned long> far0;
    alignas(128) std::atomic<unsigned long> far1;
};
static Stats stats;

static void serve(std::atomic<unsigned long> &n) {
    for (int i = 0; i < 60000000; i++) n.fetch_add(1, std::memory_order_relaxed);
}

int main(int argc, char **argv) {
    bool near = argc > 1 && !strcmp(argv[1], "near");
    std::thread a(serve, std::ref(near ? stats.near[0] : stats.far0));
    std::thread b(serve, std::ref(near ? stats.near[1] : stats.far1));
    a.join();
    b.join();
    printf("%lu\n", stats.near[0] + stats.near[1] + stats.far0 + stats.far1);
}
