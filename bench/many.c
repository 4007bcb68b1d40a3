/*
 * Much of one thing, each bounded and done in seconds: what a result of it is as large as.
 *
 *   many threads N SECONDS   N threads that live for so long, and sleep a second again and again
 *   many children N          N children, 64 at a time, each with a name and a file of its own
 *   many execs N             one process that executes this program N times
 *   many connections N       N connections over loopback, each to another address and port
 *   many files N             N files in the current directory, each written, read and removed
 *   many argument BYTES      executes itself with an argument of so many bytes
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILDREN_AT_ONCE 64
#define LISTENERS 64

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static double until;

static void *sleeps(void *number)
{
	char name[16];
	snprintf(name, sizeof name, "sleeper-%ld", (long)number % 100);
	prctl(PR_SET_NAME, name);
	while (now() < until) {
		struct timespec second = { 1, 0 };
		nanosleep(&second, NULL);
	}
	return NULL;
}

static void threads(long n, double seconds)
{
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	until = now() + seconds;
	for (long i = 0; i < n; i++) {
		pthread_t thread;
		if (pthread_create(&thread, &small, sleeps, (void *)i))
			fail("pthread_create");
		pthread_detach(thread);
	}
	puts("ready");
	fflush(stdout);
	while (now() < until)
		usleep(100 * 1000);
}

static void touch(const char *path)
{
	char byte = 'x';
	int file = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0 || write(file, &byte, 1) != 1 || pread(file, &byte, 1, 0) != 1)
		fail(path);
	close(file);
	unlink(path);
}

static void child(long number)
{
	char name[32];
	snprintf(name, sizeof name, "job-%ld", number % 1000);
	prctl(PR_SET_NAME, name);
	snprintf(name, sizeof name, "many-%ld", number);
	touch(name);
	_exit(0);
}

static void children(long n)
{
	long running = 0;
	for (long i = 0; i < n; i++) {
		if (running == CHILDREN_AT_ONCE) {
			wait(NULL);
			running--;
		}
		pid_t pid = fork();
		if (pid < 0)
			fail("fork");
		if (pid == 0)
			child(i);
		running++;
	}
	while (wait(NULL) > 0)
		;
}

static void execs(char *self, long n)
{
	char left[32];
	if (n == 0)
		return;
	snprintf(left, sizeof left, "%ld", n - 1);
	execl(self, self, "execs", left, (char *)NULL);
	fail("execl");
}

static int listener(struct sockaddr_in *at, int number)
{
	socklen_t length = sizeof *at;
	int one = 1, found = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	memset(at, 0, sizeof *at);
	at->sin_family = AF_INET;
	at->sin_addr.s_addr = htonl(0x7f000001 + (number % LISTENERS));
	setsockopt(found, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (found < 0 || bind(found, (void *)at, length) || listen(found, 1) ||
	    getsockname(found, (void *)at, &length))
		fail("listen");
	return found;
}

static void connections(long n)
{
	for (long i = 0; i < n; i++) {
		struct sockaddr_in at;
		struct linger now_gone = { 1, 0 };
		char byte = 'x';
		int server = listener(&at, i);
		int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (client < 0 || connect(client, (void *)&at, sizeof at))
			fail("connect");
		int accepted = accept(server, NULL, NULL);
		if (accepted < 0 || write(client, &byte, 1) != 1 || read(accepted, &byte, 1) != 1)
			fail("connection");
		/* Without this its port is not free again for a minute. */
		setsockopt(client, SOL_SOCKET, SO_LINGER, &now_gone, sizeof now_gone);
		close(client);
		close(accepted);
		close(server);
	}
}

static void files(long n)
{
	for (long i = 0; i < n; i++) {
		char name[64];
		snprintf(name, sizeof name, "many-files-with-a-name-%ld", i);
		touch(name);
	}
}

static void argument(char *self, long bytes)
{
	char *text = malloc(bytes + 1);
	if (!text)
		fail("malloc");
	memset(text, 'a', bytes);
	text[bytes] = 0;
	execl(self, self, "execs", "0", text, (char *)NULL);
	fail("execl");
}

int main(int count, char **words)
{
	long n = count > 2 ? atol(words[2]) : 0;
	const char *what = count > 1 ? words[1] : "";
	if (!strcmp(what, "threads"))
		threads(n, count > 3 ? atof(words[3]) : 1);
	else if (!strcmp(what, "children"))
		children(n);
	else if (!strcmp(what, "execs"))
		execs(words[0], n);
	else if (!strcmp(what, "connections"))
		connections(n);
	else if (!strcmp(what, "files"))
		files(n);
	else if (!strcmp(what, "argument"))
		argument(words[0], n);
	else
		return 2;
	return 0;
}
