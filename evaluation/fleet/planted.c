// Programs that are slow for one cause, which a second argument takes away.
// planted ack|serial|poll|lock|none [fast] [ADDRESS]; planted serve ADDRESS
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PORT = 18940 };
static int fast;
static const char *to = "127.0.0.1";
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void pass(long us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static void compute(long times) {
    for (volatile long n = 0; n < times; n++) {}
}

static void in_threads(int number, void *(*what)(void *), void *with) {
    pthread_t threads[8];
    for (int n = 0; n < number; n++) pthread_create(&threads[n], NULL, what, with);
    for (int n = 0; n < number; n++) pthread_join(threads[n], NULL);
}

static struct sockaddr_in address(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    inet_pton(AF_INET, to, &at.sin_addr);
    return at;
}

static void *asks(void *times) {
    struct sockaddr_in at = address();
    int far = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(far, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(far, (void *)&at, sizeof at)) exit(1);
    char byte = '?';
    for (long n = 0; n < (long)times; n++)
        if (write(far, &byte, 1) != 1 || read(far, &byte, 1) != 1) exit(1);
    close(far);
    return NULL;
}

// One question after another; fast: over four connections at once.
static void serial_requests(void) {
    if (fast) in_threads(4, asks, (void *)15);
    else asks((void *)60);
}

// Each question in two small pieces, of which the second waits until the first was acknowledged.
static void two_pieces(void) {
    struct sockaddr_in at = address();
    int far = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(far, IPPROTO_TCP, TCP_NODELAY, &fast, sizeof fast);
    if (connect(far, (void *)&at, sizeof at)) exit(1);
    char byte;
    for (int n = 0; n < 12; n++)
        if (write(far, "-", 1) != 1 || write(far, "=", 1) != 1 || read(far, &byte, 1) != 1) exit(1);
    close(far);
}

static void *answers(void *connection) {
    char byte;
    while (read((int)(long)connection, &byte, 1) == 1) {
        // '-' is the first part of a question, '=' the second part of one that is answered at once.
        if (byte == '-') continue;
        if (byte == '?') pass(4000);
        if (write((int)(long)connection, &byte, 1) != 1) break;
    }
    close((int)(long)connection);
    return NULL;
}

static void serve(void) {
    struct sockaddr_in at = address();
    int listening = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listening, (void *)&at, sizeof at) || listen(listening, 64)) exit(1);
    for (;;) {
        long one = accept(listening, NULL, NULL);
        setsockopt((int)one, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        pthread_t thread;
        pthread_create(&thread, NULL, answers, (void *)one);
        pthread_detach(thread);
    }
}

// Looks every 40 ms whether a child has ended; fast: waits for it.
static void poll_for(void) {
    for (int n = 0; n < 25; n++) {
        pid_t child = fork();
        if (child == 0) {
            compute(10000000);
            _exit(0);
        }
        if (fast) waitpid(child, NULL, 0);
        else while (waitpid(child, NULL, WNOHANG) == 0) pass(40000);
    }
}

static void *works(void *unused) {
    for (int n = 0; n < 25; n++) {
        if (!fast) pthread_mutex_lock(&lock);
        pass(3000);
        if (!fast) pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    for (int n = 2; n < count; n++) {
        if (!strcmp(words[n], "fast")) fast = 1;
        else to = words[n];
    }
    if (!strcmp(what, "ack")) two_pieces();
    else if (!strcmp(what, "serial")) serial_requests();
    else if (!strcmp(what, "poll")) poll_for();
    else if (!strcmp(what, "lock")) in_threads(3, works, NULL);
    else if (!strcmp(what, "none")) compute(100000000);
    else if (!strcmp(what, "serve")) serve();
    else return 2;
    return 0;
}
