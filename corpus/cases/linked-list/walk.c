// Sums a million samples, three times: along a list in random order, or in an array.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 1000000
struct sample { struct sample *next; long value; long time[6]; };

static long sum_list(const struct sample *s) {
    long sum = 0;
    for (; s; s = s->next) sum += s->value;
    return sum;
}

static long sum_array(const long *v) {
    long sum = 0;
    for (int i = 0; i < N; i++) sum += v[i];
    return sum;
}

int main(int argc, char **argv) {
    int list = argc > 1 && !strcmp(argv[1], "list");
    struct sample *nodes = list ? calloc(N, sizeof *nodes) : 0;
    long *values = malloc(N * sizeof *values), sum = 0;
    for (int i = 0; i < N; i++) values[i] = i % 1000;
    // A step that shares no factor with N reaches each node once, far from the one before.
    for (long i = 0, at = 0; list && i < N; i++) {
        long next = (at + 776161) % N;
        nodes[at].value = values[at];
        nodes[at].next = i < N - 1 ? &nodes[next] : 0;
        at = next;
    }
    for (int r = 0; r < 3; r++) sum += list ? sum_list(nodes) : sum_array(values);
    printf("%ld\n", sum);
}
