// Builds a hash table of 48 MB for each of ten batches.
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct Slot { unsigned long key, value; };
static const size_t slots = 3u << 20;

static unsigned long batch(Slot *table, unsigned long seed) {
    unsigned long x = seed, hits = 0;
    for (int i = 0; i < 900000; i++) {
        x = x * 6364136223846793005UL + 1442695040888963407UL;
        Slot &s = table[(x >> 33) * slots >> 31];
        hits += s.key != 0;
        s = {x, seed};
    }
    return hits;
}

static unsigned long build_table(unsigned long seed, Slot **kept) {
    Slot *table = kept ? *kept : nullptr;
    if (!table) table = (Slot *)calloc(slots, sizeof(Slot));
    else memset((void *)table, 0, slots * sizeof(Slot));
    unsigned long hits = batch(table, seed);
    if (kept) *kept = table;
    else free(table);
    return hits;
}

int main(int argc, char **argv) {
    bool fresh = argc > 1 && !strcmp(argv[1], "fresh");
    Slot *kept = nullptr;
    unsigned long hits = 0;
    for (int i = 1; i <= 10; i++) hits += build_table(i, fresh ? nullptr : &kept);
    printf("%lu\n", hits);
}
