// Looks up each of 300,000 keys twice, in an order far from that of the tree.
#include <cstdio>
#include <cstring>
#include <map>
#include <unordered_map>

template <class Map> static unsigned long get_id(const Map &m, unsigned long key) {
    return m.find(key)->second;
}

template <class Map> static void run() {
    const unsigned long n = 300000;
    Map m;
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) m[i * 7919 % n] = i;
    for (unsigned long i = 0; i < 2 * n; i++) sum = sum * 31 + get_id(m, i * 104729 % n);
    printf("%lu\n", sum);
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "map")) run<std::map<unsigned long, unsigned long>>();
    else run<std::unordered_map<unsigned long, unsigned long>>();
}
