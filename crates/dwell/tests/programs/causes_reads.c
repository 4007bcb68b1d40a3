/* Reads a file from its beginning to its end, with 4 KiB a call: causes_reads FILE TIMES. */
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

int main(int count, char **args)
{
    if (count < 3)
        return 2;
    int file = open(args[1], O_RDONLY);
    if (file < 0)
        return 1;
    for (int times = atoi(args[2]); times > 0; times--)
        pass(file);
    return sum == 1;
}
