#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 6000 };

static unsigned char *table(void) {
    void *at = mmap(NULL, (size_t)PAGE * PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

int main(int argc, char **argv) {
    int anew = argc > 1 && strcmp(argv[1], "new") == 0;
    unsigned long sum = 0;
    unsigned char *at = NULL;
    for (int round = 0; round < 15; round++) {
        if (!at && !(at = table())) return 1;
        for (int page = 0; page < PAGES; page++) at[(size_t)page * PAGE] = (unsigned char)(page + round);
        sum += at[(size_t)PAGE * (PAGES / 2)];
        if (anew) {
            munmap(at, (size_t)PAGE * PAGES);
            at = NULL;
        }
    }
    printf("%lu\n", sum);
    return 0;
}
