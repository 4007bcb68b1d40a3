// Makes four named pipes, each of which answers 500 ms after it was opened, and runs a command.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void *device(void *name) {
    int fd = open(name, O_WRONLY);
    usleep(500000);
    if (write(fd, "42\n", 3) != 3) perror("write");
    close(fd);
    return 0;
}

int main(int argc, char **argv) {
    static char names[4][16];
    pthread_t t;
    for (int i = 0; i < 4; i++) {
        snprintf(names[i], 16, "device%d", i);
        unlink(names[i]);
        if (mkfifo(names[i], 0600)) { perror("mkfifo"); return 1; }
        pthread_create(&t, 0, device, names[i]);
    }
    pid_t p = fork();
    if (!p) { execvp(argv[1], argv + 1); _exit(1); }
    int status;
    waitpid(p, &status, 0);
    return WEXITSTATUS(status);
}
