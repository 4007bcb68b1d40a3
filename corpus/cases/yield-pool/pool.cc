// Two threads prepare work themselves while four workers of a pool have nothing to do.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex m;
static std::condition_variable changed;
static bool stop, by_yield;

static void worker() {
    std::unique_lock l(m);
    while (!stop) {
        if (!by_yield) { changed.wait(l); continue; }
        l.unlock();
        std::this_thread::yield();
        l.lock();
    }
}

static unsigned long prepare(unsigned long x) {
    for (int i = 0; i < 250000000; i++) x = x * 6364136223846793005UL + 1;
    return x;
}

int main(int argc, char **argv) {
    by_yield = argc > 1 && !strcmp(argv[1], "yield");
    std::vector<std::thread> ts;
    for (int i = 0; i < 4; i++) ts.emplace_back(worker);
    unsigned long a = 0, b = 0;
    std::thread other([&] { b = prepare(2); });
    a = prepare(1);
    other.join();
    { std::lock_guard l(m); stop = true; }
    changed.notify_all();
    for (auto &t : ts) t.join();
    printf("%lu\n", a + b);
}
