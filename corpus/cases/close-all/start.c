// Starts 40 small commands, whose descriptors are closed first.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 65536

static void close_inherited(int each) {
    if (!each) { syscall(SYS_close_range, 3, ~0U, 0); return; }
    for (int fd = 3; fd < MOST; fd++) close(fd);
}

int main(int argc, char **argv) {
    int each = argc > 1 && !strcmp(argv[1], "each");
    for (int i = 0; i < 40; i++) {
        pid_t p = fork();
        if (!p) {
            close_inherited(each);
            execl("/bin/true", "true", (char *)0);
            _exit(1);
        }
        waitpid(p, 0, 0);
    }
    puts("started");
}
