// A worker computes one answer after the other; the asker takes each from an inbox.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

static std::mutex m;
static std::condition_variable came, asked;
static std::deque<unsigned long> inbox, questions;
static bool poll_it;

static void worker() {
    for (;;) {
        std::unique_lock l(m);
        asked.wait(l, [] { return !questions.empty(); });
        unsigned long x = questions.front();
        questions.pop_front();
        if (!x) return;
        l.unlock();
        for (int i = 0; i < 35000000; i++) x = x * 6364136223846793005UL + 1;
        l.lock();
        inbox.push_back(x);
        came.notify_one();
    }
}

static unsigned long take() {
    std::unique_lock l(m);
    while (inbox.empty()) {
        if (!poll_it) { came.wait(l); continue; }
        l.unlock();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        l.lock();
    }
    unsigned long x = inbox.front();
    inbox.pop_front();
    return x;
}

static void ask(unsigned long x) {
    std::lock_guard l(m);
    questions.push_back(x);
    asked.notify_one();
}

int main(int argc, char **argv) {
    poll_it = argc > 1 && !strcmp(argv[1], "poll");
    std::thread t(worker);
    unsigned long sum = 0;
    for (int i = 1; i <= 22; i++) { ask(i); sum += take(); }
    ask(0);
    t.join();
    printf("%lu\n", sum);
}
