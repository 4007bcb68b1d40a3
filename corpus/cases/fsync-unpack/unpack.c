// Unpacks 200 small files into a folder and removes them again.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void put(const char *path, int sync) {
    char b[700];
    memset(b, 'x', sizeof b);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
    if (write(fd, b, sizeof b) != sizeof b) perror("write");
    if (sync) fsync(fd);
    close(fd);
}

int main(int argc, char **argv) {
    int sync = argc > 1 && !strcmp(argv[1], "sync");
    char p[64];
    mkdir("root", 0755);
    for (int i = 0; i < 200; i++) { snprintf(p, sizeof p, "root/f%d", i); put(p, sync); }
    for (int i = 0; i < 200; i++) { snprintf(p, sizeof p, "root/f%d", i); unlink(p); }
    puts("unpacked");
}
