// Templates, virtual calls, and exceptions through several frames: work whose names need demangling.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

static volatile std::uint64_t sink;

static std::uint64_t cpu_ns()
{
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::uint64_t(now.tv_sec) * 1000000000u + std::uint64_t(now.tv_nsec);
}

namespace shop {
template <typename Item> struct Shelf {
    std::vector<Item> items;
    __attribute__((noinline)) std::uint64_t count(Item from) const
    {
        std::uint64_t sum = 0;
        for (int round = 0; round < 100; round++)
            for (const Item &item : items)
                sum += std::uint64_t(item * from) ^ sum; // line of count
        return sum;
    }
};

__attribute__((noinline)) int refuse(int level)
{
    if (level == 0)
        throw std::runtime_error("sold out");
    return refuse(level - 1) + 1;
}

struct Till {
    virtual ~Till() = default;
    virtual std::uint64_t ring(int) = 0;
};

struct Busy : Till {
    __attribute__((noinline)) std::uint64_t ring(int level) override
    {
        try {
            return std::uint64_t(refuse(level));
        } catch (const std::exception &error) {
            return std::string(error.what()).size();
        }
    }
};
}

int main()
{
    shop::Shelf<long> longs{std::vector<long>(10000, 3)};
    shop::Shelf<double> doubles{std::vector<double>(10000, 1.5)};
    for (std::uint64_t from = cpu_ns(); cpu_ns() - from < 250000000u;)
        sink += longs.count(7);
    for (std::uint64_t from = cpu_ns(); cpu_ns() - from < 150000000u;)
        sink += doubles.count(0.5);
    shop::Till *till = new shop::Busy;
    for (std::uint64_t from = cpu_ns(); cpu_ns() - from < 200000000u;)
        sink += till->ring(10);
    delete till;
    std::printf("%d\n", sink != 0);
}
