// Sums, five times, the columns of a matrix of 4,000 by 4,096 numbers.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define R 4000
#define C 4096

static void by_columns(const int *m, long *sums) {
    for (int c = 0; c < C; c++)
        for (int r = 0; r < R; r++) sums[c] += m[(size_t)r * C + c];
}

static void by_rows(const int *m, long *sums) {
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++) sums[c] += m[(size_t)r * C + c];
}

int main(int argc, char **argv) {
    int *m = malloc(sizeof *m * R * C);
    static long sums[C];
    for (size_t i = 0; i < (size_t)R * C; i++) m[i] = i % 13;
    for (int k = 0; k < 5; k++)
        (argc > 1 && !strcmp(argv[1], "columns") ? by_columns : by_rows)(m, sums);
    long all = 0;
    for (int c = 0; c < C; c++) all = all * 31 + sums[c];
    printf("%ld\n", all);
}
