// A server and its client, in two processes. The server corks the connection while it writes an
// answer in parts; the client posts six times.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <cstdio>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void cork(int c, int on) { setsockopt(c, IPPROTO_TCP, TCP_CORK, &on, sizeof on); }

static void put(int c, const std::string &s) {
    if (send(c, s.data(), s.size(), MSG_NOSIGNAL) < 0) perror("send");
}

static void answer(int c, const std::string &post, bool uncork) {
    cork(c, 1);
    put(c, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n");
    char sum[9];
    unsigned x = 0;
    for (char ch : post) x = x * 31 + ch;
    snprintf(sum, sizeof sum, "%08x", x);
    put(c, sum);
    if (uncork) cork(c, 0);
}

static void serve(int s, bool uncork) {
    int c = accept(s, 0, 0);
    char b[4096];
    ssize_t n;
    while ((n = recv(c, b, sizeof b, 0)) > 0) answer(c, std::string(b, n), uncork);
}

int main(int argc, char **argv) {
    bool uncork = argc > 1 && !strcmp(argv[1], "uncork");
    sockaddr_in a{};
    socklen_t len = sizeof a;
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(s, (sockaddr *)&a, sizeof a) || listen(s, 1)) { perror("listen"); return 1; }
    getsockname(s, (sockaddr *)&a, &len);
    pid_t server = fork();
    if (!server) { serve(s, uncork); _exit(0); }
    int c = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c, (sockaddr *)&a, len)) { perror("connect"); return 1; }
    std::string last;
    for (int i = 0; i < 6; i++) {
        std::string order = "order " + std::to_string(100 + i);
        put(c, "POST /orders HTTP/1.1\r\nContent-Length: 9\r\n\r\n" + order);
        std::string got;
        char b[4096];
        ssize_t n;
        while (got.find("\r\n\r\n") == std::string::npos || got.size() < got.find("\r\n\r\n") + 12)
            if ((n = recv(c, b, sizeof b, 0)) > 0) got.append(b, n);
            else { puts("lost"); return 1; }
        last = got.substr(got.size() - 8);
    }
    close(c);
    waitpid(server, 0, 0);
    puts(last.c_str());
}
