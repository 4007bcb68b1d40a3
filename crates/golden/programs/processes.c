/* Processes and how they end: processes storm|vfork|spawn|stopped|killed|orphan. */
#define _GNU_SOURCE
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void rest(int ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000L}, 0);
}

static void storm(void)
{
    for (int i = 0; i < 24; i++)
        if (!fork()) {
            rest(1);
            _exit(i);
        }
    while (wait(0) > 0)
        ;
}

static void vforked(void)
{
    for (int i = 0; i < 3; i++) {
        pid_t child = vfork();
        if (!child) {
            execl("/bin/true", "true", (char *)0);
            _exit(127);
        }
        waitpid(child, 0, 0);
    }
}

static void spawned(void)
{
    char *args[] = {"sleep", "0.01", 0};
    pid_t child;
    for (int i = 0; i < 3; i++)
        if (!posix_spawnp(&child, args[0], 0, 0, args, environ))
            waitpid(child, 0, 0);
}

static void stopped(void)
{
    pid_t child = fork();
    if (!child) {
        rest(15);
        _exit(0);
    }
    rest(5);
    kill(child, SIGSTOP);
    rest(20);
    kill(child, SIGCONT);
    waitpid(child, 0, 0);
}

static void orphaned(void)
{
    if (fork())
        _exit(0);
    rest(5);
}

int main(int count, char **args)
{
    const char *what = count > 1 ? args[1] : "";
    if (!strcmp(what, "storm"))
        storm();
    else if (!strcmp(what, "vfork"))
        vforked();
    else if (!strcmp(what, "spawn"))
        spawned();
    else if (!strcmp(what, "stopped"))
        stopped();
    else if (!strcmp(what, "orphan"))
        orphaned();
    else {
        rest(10);
        raise(SIGKILL);
    }
    return 0;
}
