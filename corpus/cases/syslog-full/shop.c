// Logs one line for each order, over a socket as syslog does.
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static int fd;

static void log_line(const char *s) { send(fd, s, strlen(s), 0); }

static unsigned long order(unsigned long x) {
    for (int i = 0; i < 60000; i++) x = x * 6364136223846793005UL + 1;
    return x;
}

int main(int argc, char **argv) {
    struct sockaddr_un a = {AF_UNIX, "log.sock"};
    unsigned long x = 1;
    char b[200];
    fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (connect(fd, (void *)&a, sizeof a)) { perror("connect"); return 1; }
    log_line(argc > 1 ? argv[1] : "slow");
    for (int i = 0; i < 500; i++) {
        x = order(x);
        snprintf(b, sizeof b, "<14>shop: order %d done, checksum %lu", i, x);
        log_line(b);
    }
    printf("%lu\n", x);
}
