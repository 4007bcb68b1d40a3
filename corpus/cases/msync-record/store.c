#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RECORD = 256, RECORDS = 300, SIZE = RECORD * RECORDS };

int main(int argc, char **argv) {
    int each = argc > 1 && strcmp(argv[1], "each") == 0;
    int file = open("records.bin", O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || ftruncate(file, SIZE) != 0) return 1;
    char *all = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (all == MAP_FAILED) return 1;
    for (int i = 0; i < RECORDS; i++) {
        memset(all + i * RECORD, 'a' + i % 26, RECORD);
        if (each && msync(all + i * RECORD / 4096 * 4096, 4096, MS_SYNC) != 0) return 1;
    }
    if (msync(all, SIZE, MS_SYNC) != 0) return 1;
    printf("%c\n", all[SIZE - 1]);
    return 0;
}
