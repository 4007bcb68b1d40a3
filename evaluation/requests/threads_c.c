/* A thread for each connection, which asks a peer itself. Plans: lock, sleep, peer, cpu.
 * ARGS: PORT PEER-PORT TRUTH */
#include "truth.h"

struct conn { int c, port; };
static int peer_port;

static void asks(int peer, struct truth *t)
{
	char own[30];
	ns from = now();
	dprintf(peer, "%d\n", t->ms);
	if (recv(peer, own, sizeof(own), 0) <= 0) exit(1);
	t->peer += now() - from;
}

static void *serves(void *of)
{
	struct conn *conn = of;
	struct truth t;
	int peer = connects(peer_port);
	for (int n = 0; receives(conn->c, &t, conn->port, n); n++) {
		if (!strcmp(t.plan, "peer")) asks(peer, &t);
		planted(&t);
		send(conn->c, "ok\n", 3, 0);
		tells(&t);
	}
	close(peer), close(conn->c);
	return 0;
}

int main(int argc, char **argv)
{
	int s = listens(argv);
	pthread_t t;
	peer_port = atoi(argv[2]);
	for (;;) {
		struct conn *conn = malloc(sizeof(*conn));
		conn->c = accepts(s, &conn->port);
		pthread_create(&t, 0, serves, conn);
		pthread_detach(t);
	}
}
