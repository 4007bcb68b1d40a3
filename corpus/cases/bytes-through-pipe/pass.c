// A parent writes 250,000 bytes into a pipe in pieces; its child reads pieces of the same size.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 250000

int main(int argc, char **argv) {
    size_t piece = argc > 1 ? atoi(argv[1]) : 1;
    static char b[N];
    int p[2];
    if (pipe(p)) return 1;
    if (!fork()) {
        unsigned int sum = 0;
        ssize_t n;
        close(p[1]);
        while ((n = read(p[0], b, piece)) > 0)
            for (ssize_t i = 0; i < n; i++) sum = sum * 31 + b[i];
        printf("%u\n", sum);
        return 0;
    }
    for (int i = 0; i < N; i++) b[i] = 'a' + i % 26;
    for (size_t i = 0; i < N; i += piece)
        if (write(p[1], b + i, piece < N - i ? piece : N - i) < 0) return 1;
    close(p[1]);
    wait(0);
}
