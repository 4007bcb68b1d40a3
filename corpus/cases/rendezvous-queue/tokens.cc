// Hands 2,500 tokens from one thread to another.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

static std::mutex m;
static std::condition_variable changed;
static std::deque<unsigned> queue;
static size_t room;

static void put(unsigned t) {
    std::unique_lock l(m);
    changed.wait(l, [] { return queue.size() < room; });
    queue.push_back(t);
    if (queue.size() == 1) changed.notify_one();
}

static unsigned take() {
    std::unique_lock l(m);
    changed.wait(l, [] { return !queue.empty(); });
    unsigned t = queue.front();
    queue.pop_front();
    if (queue.size() == room - 1) changed.notify_one();
    return t;
}

static unsigned parse(unsigned t) {
    for (int k = 0; k < 60000; k++) t = t * 1664525 + 1013904223;
    return t;
}

int main(int argc, char **argv) {
    room = argc > 1 ? atoi(argv[1]) : 1;
    std::thread parser([] {
        for (unsigned i = 0; i < 2500; i++) put(parse(i));
    });
    unsigned sum = 0;
    for (int i = 0; i < 2500; i++) sum = sum * 31 + take();
    parser.join();
    printf("%u\n", sum);
}
