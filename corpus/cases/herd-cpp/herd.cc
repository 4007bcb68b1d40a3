#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

static std::mutex guard;
static std::condition_variable filled, emptied;
static std::queue<int> items;
static bool done;
static long sum;

static void worker() {
    std::unique_lock<std::mutex> lock(guard);
    for (;;) {
        filled.wait(lock, [] { return done || !items.empty(); });
        if (items.empty()) return;
        sum += items.front();
        items.pop();
        emptied.notify_one();
    }
}

int main(int argc, char **argv) {
    bool all = argc > 1 && std::strcmp(argv[1], "all") == 0;
    std::vector<std::thread> workers;
    for (int i = 0; i < 12; i++) workers.emplace_back(worker);
    for (int i = 0; i < 600; i++) {
        std::unique_lock<std::mutex> lock(guard);
        emptied.wait(lock, [] { return items.empty(); });
        items.push(i);
        if (all) filled.notify_all();
        else filled.notify_one();
    }
    {
        std::lock_guard<std::mutex> lock(guard);
        done = true;
    }
    filled.notify_all();
    for (auto &one : workers) one.join();
    std::printf("%ld\n", sum);
}
