// Answers each line with its length; waits in epoll.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
    int s = socket(AF_INET, SOCK_STREAM, 0), on = 1, e = epoll_create1(0);
    struct epoll_event v = {.events = EPOLLIN, .data.fd = s};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(s, (void *)&a, sizeof a) || listen(s, 50)) { perror("listen"); return 1; }
    epoll_ctl(e, EPOLL_CTL_ADD, s, &v);
    while (epoll_wait(e, &v, 1, -1) == 1) {
        if (v.data.fd == s) {
            v.data.fd = accept(s, 0, 0);
            epoll_ctl(e, EPOLL_CTL_ADD, v.data.fd, &v);
            continue;
        }
        char b[500];
        ssize_t n = read(v.data.fd, b, sizeof b);
        if (n <= 0) { close(v.data.fd); continue; }
        if (write(v.data.fd, b, snprintf(b, sizeof b, "%zd\n", n)) < 0) close(v.data.fd);
    }
}
