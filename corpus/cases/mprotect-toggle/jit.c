// Writes 6,000 small pieces of code into memory that is not writable in between.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE (1 << 20)
static unsigned char *code;

static void writable(int on) {
    if (mprotect(code, SIZE, on ? PROT_READ | PROT_WRITE : PROT_READ | PROT_EXEC)) perror("mprotect");
}

int main(int argc, char **argv) {
    int each = argc > 1 && !strcmp(argv[1], "each");
    unsigned long sum = 0;
    code = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(code, 0x90, SIZE);
    for (int i = 0; i < 6000; i++) {
        if (each) writable(1);
        for (int k = 0; k < 120000; k++) sum = sum * 31 + k;
        memset(code + i * 64L % SIZE, sum & 255, 16);
        if (each) writable(0);
    }
    writable(0);
    for (int i = 0; i < SIZE; i++) sum += code[i];
    printf("%lu\n", sum);
}
