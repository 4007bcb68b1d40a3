/* Starts a worker script, feeds a short job to it, then asks it to stop. A worker that has not
   gone after the grace period is killed, as container runtimes do it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned checksum(unsigned rounds)
{
    unsigned h = 2166136261u;
    for (unsigned i = 0; i < rounds; i++)
        h = (h ^ (i & 255)) * 16777619u;
    return h;
}

/* Waits for a child until the grace period is over; 1 if it went by itself. */
static int wait_for_exit(const sigset_t *child, const struct timespec *grace)
{
    return sigtimedwait(child, NULL, grace) == SIGCHLD;
}

int main(int argc, char **argv)
{
    const char *script = argc > 1 ? argv[1] : "worker.sh";
    sigset_t child, before;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);

    int ready[2];
    if (pipe(ready))
        return 1;
    pid_t worker = fork();
    if (worker == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        setpgid(0, 0);
        dup2(ready[1], 1);
        close(ready[0]);
        close(ready[1]);
        execlp("bash", "bash", script, (char *)NULL);
        _exit(127);
    }
    setpgid(worker, worker);
    close(ready[1]);
    char line[16] = "";
    if (read(ready[0], line, sizeof line - 1) <= 0)
        return 1;

    unsigned sum = checksum(60 * 1000 * 1000);

    struct timespec grace = {.tv_sec = 1, .tv_nsec = 0};
    kill(worker, SIGTERM);
    if (!wait_for_exit(&child, &grace))
        kill(-worker, SIGKILL);
    waitpid(worker, NULL, 0);
    kill(-worker, SIGKILL); /* what the worker left running */
    printf("checksum %08x, worker stopped\n", sum);
    return 0;
}
