/* One thread and epoll: everything in the loop, but for a peer that answers on a connection which
 * each client's has for itself. Plans: cpu, sleep (both block the loop), peer.
 * ARGS: PORT PEER-PORT TRUTH */
#include "truth.h"

struct conn { int c, port, n, peer, of_peer; ns asked; struct truth truth; struct conn *other; };

static void watches(int poll, struct conn *conn, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = conn };
	epoll_ctl(poll, EPOLL_CTL_ADD, fd, &e);
}

static void answers(struct conn *conn)
{
	planted(&conn->truth);
	send(conn->c, "ok\n", 3, 0);
	tells(&conn->truth);
}

int main(int argc, char **argv)
{
	int s = listens(argv), poll = epoll_create1(0);
	struct epoll_event e;
	watches(poll, 0, s);
	while (epoll_wait(poll, &e, 1, -1) > 0 || errno == EINTR) {
		struct conn *conn = e.data.ptr;
		if (!conn) {
			conn = calloc(1, sizeof(*conn));
			conn->c = accepts(s, &conn->port);
			conn->peer = connects(atoi(argv[2]));
			watches(poll, conn, conn->c);
			struct conn *peer = calloc(1, sizeof(*peer));
			*peer = (struct conn){ .of_peer = 1, .other = conn };
			watches(poll, peer, conn->peer);
		} else if (conn->of_peer) {
			char own[30] = "";
			conn = conn->other;
			if (recv(conn->peer, own, 29, 0) <= 0) continue;
			conn->truth.peer = atoll(own);
			conn->truth.loop = now() - conn->asked - conn->truth.peer;
			answers(conn);
		} else if (!receives(conn->c, &conn->truth, conn->port, conn->n++)) {
			close(conn->peer), close(conn->c);
		} else if (!strcmp(conn->truth.plan, "peer")) {
			conn->asked = now();
			dprintf(conn->peer, "%d\n", conn->truth.ms);
		} else {
			answers(conn);
		}
	}
}
