/* A thread that sleeps until a given time, and what keeps it from waking up in time. Every mode ends by itself.
 *
 *   wakes loop CPU PRIORITY INTERVAL_US LATE_US MS   prints its number, and each wake-up that is LATE_US late
 *   wakes hog CPU PRIORITY MS TIMES                  has the processor for MS, TIMES times (at most 50 ms each)
 *   wakes flood CPU SOCKETS MS                       each message that it sends reaches so many sockets
 *   wakes busy CPU MS                                with the most weight that an ordinary task can have
 *
 * A priority of 0 is SCHED_OTHER, another one SCHED_FIFO. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void must(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static void take_place(const char *name, int cpu, int priority)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
	struct sched_param param = { .sched_priority = priority };
	must(!sched_setscheduler(0, priority ? SCHED_FIFO : SCHED_OTHER, &param), "sched_setscheduler");
	prctl(PR_SET_NAME, name);
}

static void spin(long long ns)
{
	long long end = now_ns() + ns;
	while (now_ns() < end)
		;
}

static void pause_ms(long ms)
{
	struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };
	nanosleep(&pause, 0);
}

static void loop(int cpu, int priority, long long interval_us, long long late_us, long long ms)
{
	take_place("wakes-loop", cpu, priority);
	mlockall(MCL_CURRENT | MCL_FUTURE);
	setvbuf(stdout, 0, _IOLBF, 4096);
	printf("%d\n", getpid());
	/* Whoever reads it has to prepare. */
	pause_ms(50);
	long long interval = interval_us * 1000, next = now_ns() + interval, end = next + ms * 1000000;
	while (next < end) {
		struct timespec until = { next / 1000000000, next % 1000000000 };
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0) == EINTR)
			;
		long long awake = now_ns();
		if (awake - next >= late_us * 1000)
			printf("%lld %lld\n", next, awake);
		next += interval * (1 + (awake - next) / interval);
	}
}

static void flood(int cpu, int sockets, long long ms)
{
	take_place("wakes-flood", cpu, 0);
	struct rlimit files = { sockets + 32, sockets + 32 };
	must(!setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
	struct sockaddr_in to = { .sin_family = AF_INET };
	to.sin_port = htons(20000 + getpid() % 20000);
	to.sin_addr.s_addr = inet_addr("239.1.2.3");
	struct ip_mreqn group = { .imr_multiaddr = to.sin_addr };
	group.imr_address.s_addr = htonl(INADDR_LOOPBACK);
	int yes = 1, few = 0;
	for (int i = 0; i < sockets; i++) {
		int in = socket(AF_INET, SOCK_DGRAM, 0);
		must(in >= 0, "socket");
		must(!setsockopt(in, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)), "SO_REUSEADDR");
		setsockopt(in, SOL_SOCKET, SO_RCVBUF, &few, sizeof(few));
		must(!bind(in, (struct sockaddr *)&to, sizeof(to)), "bind");
		must(!setsockopt(in, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group)), "IP_ADD_MEMBERSHIP");
	}
	int out = socket(AF_INET, SOCK_DGRAM, 0);
	must(!setsockopt(out, IPPROTO_IP, IP_MULTICAST_IF, &group, sizeof(group)), "IP_MULTICAST_IF");
	puts("ready");
	fflush(stdout);
	for (long long end = now_ns() + ms * 1000000; now_ns() < end;)
		sendto(out, "x", 1, 0, (struct sockaddr *)&to, sizeof(to));
}

int main(int count, char **words)
{
	long arg[6] = { 0 };
	for (int i = 2; i < count && i < 8; i++)
		arg[i - 2] = atol(words[i]);
	if (count < 2)
		return 2;
	if (!strcmp(words[1], "loop")) {
		loop(arg[0], arg[1], arg[2], arg[3], arg[4]);
	} else if (!strcmp(words[1], "hog")) {
		take_place("wakes-hog", arg[0], arg[1]);
		for (int i = 0; i < arg[3]; i++) {
			pause_ms(100);
			spin((arg[2] > 50 ? 50 : arg[2]) * 1000000LL);
		}
	} else if (!strcmp(words[1], "flood")) {
		flood(arg[0], arg[1], arg[2]);
	} else if (!strcmp(words[1], "busy")) {
		take_place("wakes-busy", arg[0], 0);
		must(!setpriority(PRIO_PROCESS, 0, -20), "setpriority");
		spin(arg[1] * 1000000LL);
	} else {
		return 2;
	}
	return 0;
}
