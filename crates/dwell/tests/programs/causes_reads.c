/*
 * Reads a file from its beginning to its end, with 4 KiB a call, and then so many blocks of 4 KiB all
 * over it: causes_reads FILE TIMES [BLOCKS].
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned sum;

__attribute__((noinline)) static void pass(int file)
{
    static unsigned char buffer[4096];
    ssize_t size;
    lseek(file, 0, SEEK_SET);
    while ((size = read(file, buffer, sizeof buffer)) > 0)
        sum += buffer[size - 1];
}

__attribute__((noinline)) static void look_up(int file, unsigned block)
{
    static unsigned char buffer[4096];
    ssize_t size = pread(file, buffer, sizeof buffer, (off_t)block * sizeof buffer);
    if (size > 0)
        sum += buffer[size - 1];
}

int main(int count, char **args)
{
    if (count < 3)
        return 2;
    int file = open(args[1], O_RDONLY);
    if (file < 0)
        return 1;
    for (int times = atoi(args[2]); times > 0; times--)
        pass(file);
    unsigned blocks = lseek(file, 0, SEEK_END) / 4096, random = 1;
    for (int times = count > 3 && blocks ? atoi(args[3]) : 0; times > 0; times--) {
        random = random * 1664525 + 1013904223;
        look_up(file, (random >> 8) % blocks);
    }
    return sum == 1;
}
