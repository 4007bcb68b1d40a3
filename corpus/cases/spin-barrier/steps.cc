// Shares 30 steps between N threads, which wait for each other after each step.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

static int threads;
static std::atomic<int> arrived;
static std::atomic<unsigned> round_;

static void arrive() {
    unsigned now = round_;
    if (++arrived == threads) {
        arrived = 0;
        ++round_;
        return;
    }
    while (round_ == now) {}
}

static void step(int t, unsigned long *sums) {
    for (int s = 0; s < 30; s++) {
        for (int part = t; part < 12; part += threads) {
            unsigned long x = part + s;
            for (int k = 0; k < 60000; k++) x = x * 6364136223846793005UL + 1;
            sums[part * 8] += x;
        }
        arrive();
    }
}

int main(int argc, char **argv) {
    threads = argc > 1 ? atoi(argv[1]) : 2;
    static unsigned long sums[12 * 8];
    std::vector<std::thread> ts;
    for (int t = 0; t < threads; t++) ts.emplace_back(step, t, sums);
    for (auto &t : ts) t.join();
    unsigned long all = 0;
    for (int p = 0; p < 12; p++) all = all * 31 + sums[p * 8];
    printf("%lu\n", all);
}
