// A database of 200 MB in memory that starts 40 helpers, one after another.
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void helper(int by_fork) {
    char *args[] = {"true", 0};
    pid_t p;
    if (!by_fork) posix_spawn(&p, "/bin/true", 0, 0, args, environ);
    else if (!(p = fork())) { execv("/bin/true", args); _exit(1); }
    waitpid(p, 0, 0);
}

int main(int argc, char **argv) {
    size_t n = 200UL << 20;
    char *m = mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(m, n, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < n; i += 4096) m[i] = 1;
    for (int i = 0; i < 40; i++) helper(argc > 1 && !strcmp(argv[1], "fork"));
    puts("served");
}
