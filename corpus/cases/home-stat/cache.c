// Hashes 400 sources; for each a folder is looked for that is not there.
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static unsigned long hash_source(int i) {
    unsigned long h = i;
    for (int k = 0; k < 1200000; k++) h = (h ^ (k & 255)) * 1099511628211UL;
    return h;
}

static int old_folder(void) {
    struct stat s;
    return !stat("home/.ccache", &s);
}

int main(int argc, char **argv) {
    unsigned long sum = 0;
    for (int i = 0; i < 400; i++) {
        if (argc > 1 && !strcmp(argv[1], "look") && old_folder()) sum++;
        sum += hash_source(i);
    }
    printf("%lu\n", sum);
}
