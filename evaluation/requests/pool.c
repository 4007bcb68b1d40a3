/* One thread receives with epoll and submits to a queue; two threads work and send the answer
 * themselves. Plans: pool (a sleep of a member), cpu, lock. ARGS: PORT PEER-PORT TRUTH */
#include "truth.h"
#include "queue.h"

static void *works(void *none)
{
	for (;;) {
		struct work *w = takes();
		planted(&w->truth);
		send(w->c, "ok\n", 3, 0);
		tells(&w->truth);
		free(w);
	}
	return none;
}

int main(int argc, char **argv)
{
	static int ports[1024], n[1024];
	int s = listens(argv), poll = epoll_create1(0);
	struct epoll_event e = { .events = EPOLLIN, .data.fd = s };
	epoll_ctl(poll, EPOLL_CTL_ADD, s, &e);
	pthread_t t;
	for (int i = 0; i < 2; i++) pthread_create(&t, 0, works, 0);
	while (epoll_wait(poll, &e, 1, -1) > 0 || errno == EINTR) {
		int c = e.data.fd;
		if (c == s) {
			int port;
			e.data.fd = c = accepts(s, &port);
			ports[c] = port, n[c] = 0;
			epoll_ctl(poll, EPOLL_CTL_ADD, c, &e);
			continue;
		}
		struct work *w = malloc(sizeof(*w));
		w->c = c;
		if (receives(c, &w->truth, ports[c], n[c]++)) submits(w);
		else close(c), free(w);
	}
}
