// Many short loops, each shared by the threads of OpenMP.
#include <stdio.h>

#define N 50000
static double a[N], b[N];

int main(void) {
    double s = 0;
    for (int i = 0; i < N; i++) a[i] = i, b[i] = N - i;
    for (int r = 0; r < 450; r++) {
#pragma omp parallel for reduction(+ : s)
        for (int i = 0; i < N; i++) s += a[i] * b[i] / (r + 1 + b[i]);
    }
    printf("%.6g\n", s);
}
