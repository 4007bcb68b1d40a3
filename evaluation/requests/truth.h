/* What the servers in C plant in requests, and the truth that they write; like plant.py. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long ns;
struct truth { int port, n; char plan[8]; int ms; ns recv, queued, cpu, lock, sleep, peer, loop; };
static int file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static ns clock_ns(int which)
{
	struct timespec t;
	clock_gettime(which, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static ns now(void) { return clock_ns(CLOCK_MONOTONIC); }

static void burns(struct truth *t, double ms)
{
	ns from = clock_ns(CLOCK_THREAD_CPUTIME_ID), to = from + ms * 1e6;
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < to) ;
	t->cpu += clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
}
static void sleeps(struct truth *t) { ns from = now(); usleep(t->ms * 1000); t->sleep += now() - from; }

/* Every request takes the lock for a moment. */
static void planted(struct truth *t)
{
	ns from = now();
	pthread_mutex_lock(&lock);
	t->lock += now() - from;
	if (!strcmp(t->plan, "lock")) sleeps(t);
	pthread_mutex_unlock(&lock);
	if (!strcmp(t->plan, "sleep") || !strcmp(t->plan, "pool")) sleeps(t);
	burns(t, strcmp(t->plan, "cpu") ? 0.1 : t->ms);
}
static void tells(struct truth *t)
{
	dprintf(file, "{\"port\":%d,\"n\":%d,\"plan\":\"%s\",\"recv\":%llu,\"sent\":%llu,"
		"\"queued\":%llu,\"cpu\":%llu,"
		"\"lock\":%llu,\"sleep\":%llu,\"peer\":%llu,\"loop\":%llu}\n", t->port, t->n, t->plan, t->recv, now(),
		t->queued, t->cpu, t->lock, t->sleep, t->peer, t->loop);
}
/* The next request on a connection; 0 at its end. */
static int receives(int c, struct truth *t, int port, int n)
{
	char line[100];
	int got = recv(c, line, sizeof(line) - 1, 0);
	if (got <= 0) return 0;
	line[got] = 0;
	*t = (struct truth){ .port = port, .n = n, .recv = now() };
	return sscanf(line, "%7s %d", t->plan, &t->ms) == 2;
}
static struct sockaddr_in at_port(int port)
{
	struct in_addr here = { htonl(INADDR_LOOPBACK) };
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = here };
}
__attribute__((unused)) static int connects(int port)
{
	struct sockaddr_in a = at_port(port);
	int s = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(s, (void *)&a, sizeof(a))) exit(1);
	return s;
}
static int listens(char **argv)
{
	struct sockaddr_in a = at_port(atoi(argv[1]));
	int s = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	file = open(argv[3], O_WRONLY | O_CREAT | O_APPEND, 0644);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(s, (void *)&a, sizeof(a)) || listen(s, 1024)) exit(1);
	return s;
}
static int accepts(int s, int *port)
{
	struct sockaddr_in a; socklen_t size = sizeof(a);
	int c = accept(s, (void *)&a, &size), on = 1;
	setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	*port = ntohs(a.sin_port);
	return c;
}
