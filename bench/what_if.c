/* Programs that are run in two ways for `cargo xtask bench what-if`: as they are, and with what an
 * edit takes away really gone.
 *
 *   syncs N each|none      N records, each confirmed by the disk, or none
 *   sleeps N held|free     three threads, N items each: a device's answer under a lock, or without
 *   computes N held|free   two threads, N items each: 1 ms of work under a lock, or without
 *   ask PORT N             N questions to a server, 1 ms of work after each
 *   serve MICROSECONDS     the server: prints its port, and answers each question so much after it
 *                          has it
 *   spin THREADS N         threads that compute, N million rounds each
 *   halves N all|half      N items: a function that does all of its rounds, or half of them
 *   all PORT N each|none all|half   a question, the function and a record for each item
 *   within FILE …          the same, once this process has entered the control group of FILE
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* About 1 ms. */
#define MS_ROUNDS 600000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t kept;
static long items;
static int held;

static void fails(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline __attribute__((always_inline)) uint64_t rounds(long n, uint64_t x)
{

	for (long i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

/* Its own function, so that samples tell it from the rest; with another number, since compilers
 * put functions together that do the same. */
static __attribute__((noinline)) void hash(long n)
{
	kept += rounds(n, 0x2545f4914f6cdd1du);
}

static __attribute__((noinline)) void compute(long n)
{
	kept += rounds(n, 88172645463325252u);
}

static void sleep_us(long us)
{
	struct timespec time = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

	nanosleep(&time, 0);
}

static int create(void)
{
	int file = open("records", O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	if (file < 0)
		fails("records");
	return file;
}

static void record(int file, int sync)
{
	static char bytes[200];

	if (write(file, bytes, sizeof(bytes)) != sizeof(bytes))
		fails("write");
	if (sync && fdatasync(file))
		fails("fdatasync");
}

static void syncs(long n, int sync)
{
	int file = create();

	for (long i = 0; i < n; i++) {
		compute(MS_ROUNDS / 4);
		record(file, sync);
	}
	close(file);
	unlink("records");
}

static void *sleeper(void *unused)
{
	for (long i = 0; i < items; i++) {
		if (held)
			pthread_mutex_lock(&lock);
		sleep_us(2000);
		if (held)
			pthread_mutex_unlock(&lock);
		compute(MS_ROUNDS / 4);
	}
	return unused;
}

static void *worker(void *unused)
{
	for (long i = 0; i < items; i++) {
		if (held)
			pthread_mutex_lock(&lock);
		compute(MS_ROUNDS);
		if (held)
			pthread_mutex_unlock(&lock);
		compute(MS_ROUNDS / 4);
	}
	return unused;
}

static void *spinner(void *unused)
{
	compute(items * 1000000);
	return unused;
}

static void threads(int count, void *(*run)(void *))
{
	pthread_t thread[64];

	if (count < 1 || count > 64)
		exit(1);
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread[i], 0, run, 0))
			exit(1);
	for (int i = 0; i < count; i++)
		pthread_join(thread[i], 0);
}

static struct sockaddr_in loopback(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

static void at_once(int socket)
{
	int yes = 1;

	setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

/* Until standard input ends. A question says when it was asked, by the clock that all processes
 * share; the last of the time until the answer is waited for on the CPU. */
static void serve(long us)
{
	struct sockaddr_in address = loopback(0);
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), client = -1;

	if (listener < 0 || bind(listener, (void *)&address, size) || listen(listener, 8))
		fails("listen");
	if (getsockname(listener, (void *)&address, &size))
		fails("getsockname");
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	for (;;) {
		struct pollfd ready[] = { { 0, POLLIN, 0 }, { client < 0 ? listener : client, POLLIN, 0 } };
		uint64_t asked;

		if (poll(ready, 2, -1) < 0)
			fails("poll");
		if (ready[0].revents)
			return;
		if (!ready[1].revents)
			continue;
		if (client < 0) {
			client = accept(listener, 0, 0);
			if (client >= 0)
				at_once(client);
			continue;
		}
		if (recv(client, &asked, sizeof(asked), MSG_WAITALL) != sizeof(asked)) {
			close(client);
			client = -1;
			continue;
		}
		uint64_t now = now_ns(), until = now + (uint64_t)us * 1000;
		if (until > now + 200000)
			sleep_us((long)((until - now) / 1000) - 200);
		while (now_ns() < until)
			;
		if (send(client, &asked, 1, MSG_NOSIGNAL) != 1) {
			close(client);
			client = -1;
		}
	}
}

static int reach(int port)
{
	struct sockaddr_in address = loopback(port);
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (server < 0 || connect(server, (void *)&address, sizeof(address)))
		fails("connect");
	at_once(server);
	return server;
}

static void question(int server)
{
	uint64_t asked = 0;
	char answer;

	if (write(server, &asked, sizeof(asked)) != sizeof(asked) || read(server, &answer, 1) != 1)
		fails("server");
}

static void ask(int port, long n)
{
	int server = reach(port);

	for (long i = 0; i < n; i++) {
		question(server);
		compute(MS_ROUNDS);
	}
}

static void halves(long n, int half)
{
	for (long i = 0; i < n; i++) {
		hash(half ? MS_ROUNDS / 2 : MS_ROUNDS);
		compute(MS_ROUNDS / 2);
	}
}

static void all(int port, long n, int sync, int half)
{
	int server = reach(port), file = create();

	for (long i = 0; i < n; i++) {
		question(server);
		hash(half ? MS_ROUNDS / 2 : MS_ROUNDS);
		record(file, sync);
	}
	close(file);
	unlink("records");
}

/* Of the group that this file is of. */
static void enter(const char *file)
{
	FILE *group = fopen(file, "w");

	if (!group || fprintf(group, "%d", getpid()) < 0 || fclose(group))
		fails(file);
}

int main(int count, char **arguments)
{
	if (count > 2 && !strcmp(arguments[1], "within")) {
		enter(arguments[2]);
		count -= 2;
		arguments += 2;
	}
	const char *name = count > 1 ? arguments[1] : "";
	const char *way = count > 3 ? arguments[count > 4 ? 4 : 3] : "";
	long first = count > 2 ? atol(arguments[2]) : 0, second = count > 3 ? atol(arguments[3]) : 0;

	items = first;
	held = !strcmp(way, "held");
	if (!strcmp(name, "syncs") && count == 4)
		syncs(first, !strcmp(way, "each"));
	else if (!strcmp(name, "sleeps") && count == 4)
		threads(3, sleeper);
	else if (!strcmp(name, "computes") && count == 4)
		threads(2, worker);
	else if (!strcmp(name, "ask") && count == 4)
		ask((int)first, second);
	else if (!strcmp(name, "serve") && count == 3)
		serve(first);
	else if (!strcmp(name, "spin") && count == 4) {
		items = second;
		threads((int)first, spinner);
	} else if (!strcmp(name, "halves") && count == 4)
		halves(first, !strcmp(way, "half"));
	else if (!strcmp(name, "all") && count == 6)
		all((int)first, second, !strcmp(way, "each"), !strcmp(arguments[5], "half"));
	else
		return 2;
	return 0;
}
