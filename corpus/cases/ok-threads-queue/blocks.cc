// Two consumers sum blocks of 64 Ki numbers that a producer hands over.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

using Block = std::vector<unsigned>;
static std::mutex m;
static std::condition_variable more, room;
static std::deque<Block> blocks;
static bool end;
static std::atomic<unsigned long> total;

static void consume() {
    for (;;) {
        std::unique_lock l(m);
        more.wait(l, [] { return end || !blocks.empty(); });
        if (blocks.empty()) return;
        Block b = std::move(blocks.front());
        blocks.pop_front();
        l.unlock();
        room.notify_one();
        unsigned long sum = 0;
        for (int r = 0; r < 30; r++)
            for (unsigned x : b) sum = sum * 31 + (x ^ r);
        total += sum;
    }
}

int main() {
    std::thread a(consume), b(consume);
    for (unsigned i = 0; i < 350; i++) {
        Block block(65536);
        for (unsigned k = 0; k < block.size(); k++) block[k] = i * k;
        std::unique_lock l(m);
        room.wait(l, [] { return blocks.size() < 8; });
        blocks.push_back(std::move(block));
        l.unlock();
        more.notify_one();
    }
    { std::lock_guard l(m); end = true; }
    more.notify_all();
    a.join();
    b.join();
    printf("%lu\n", total.load());
}
