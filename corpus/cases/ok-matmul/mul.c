// Multiplies two matrices of 768 by 768 in blocks of 64, three times.
#include <stdio.h>
#include <string.h>

#define N 768
#define B 64
static double a[N][N], b[N][N], c[N][N];

int main(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) a[i][j] = i + j, b[i][j] = i - j;
    for (int r = 0; r < 3; r++) {
#pragma omp parallel for
        for (int ii = 0; ii < N; ii += B)
            for (int kk = 0; kk < N; kk += B)
                for (int jj = 0; jj < N; jj += B)
                    for (int i = ii; i < ii + B; i++)
                        for (int k = kk; k < kk + B; k++)
                            for (int j = jj; j < jj + B; j++) c[i][j] += a[i][k] * b[k][j];
    }
    printf("%.6g\n", c[5][7]);
}
