/* Four threads that share one epoll: whichever is free takes what is ready, and does all of it
 * (EPOLLONESHOT). Plans: lock, sleep, cpu. ARGS: PORT PEER-PORT TRUTH */
#include "truth.h"

static int s, poll, ports[1024], n[1024];

static void *serves(void *none)
{
	struct epoll_event e;
	while (epoll_wait(poll, &e, 1, -1) > 0 || errno == EINTR) {
		struct truth t;
		int c = e.data.fd, port;
		if (c == s) {
			c = accepts(s, &port);
			ports[c] = port, n[c] = 0;
			struct epoll_event new = { .events = EPOLLIN | EPOLLONESHOT, .data.fd = c };
			epoll_ctl(poll, EPOLL_CTL_ADD, c, &new);
		} else if (receives(c, &t, ports[c], n[c]++)) {
			planted(&t);
			send(c, "ok\n", 3, 0);
			tells(&t);
		} else {
			close(c);
			continue;
		}
		e.events = EPOLLIN | EPOLLONESHOT;
		epoll_ctl(poll, EPOLL_CTL_MOD, e.data.fd, &e);
	}
	return none;
}

int main(int argc, char **argv)
{
	s = listens(argv), poll = epoll_create1(0);
	struct epoll_event e = { .events = EPOLLIN | EPOLLONESHOT, .data.fd = s };
	epoll_ctl(poll, EPOLL_CTL_ADD, s, &e);
	pthread_t t;
	for (int i = 0; i < 3; i++) pthread_create(&t, 0, serves, 0);
	serves(0);
}
