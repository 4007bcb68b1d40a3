/* Like condvar.c with a free thread for every request; those that send take the lock of a log after
 * the answer, for which plan `log` makes them wait: a worker has it for MS, and then sleeps for MS.
 * Who is woken for the lock does not go on with the request. Plans: log.
 * ARGS: PORT PEER-PORT TRUTH */
#include "truth.h"
#include "queue.h"

struct conn { int c, port, done; pthread_mutex_t lock; pthread_cond_t is_done; };
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void *works(void *none)
{
	for (;;) {
		struct work *w = takes();
		struct conn *conn = (void *)(long)w->truth.loop;
		w->truth.loop = 0;
		if (!strcmp(w->truth.plan, "log")) {
			pthread_mutex_lock(&log_lock);
			sleeps(&w->truth);
			pthread_mutex_unlock(&log_lock);
			sleeps(&w->truth);
		}
		planted(&w->truth);
		pthread_mutex_lock(&conn->lock);
		conn->done = 1;
		pthread_cond_signal(&conn->is_done);
		pthread_mutex_unlock(&conn->lock);
	}
	return none;
}

static void *serves(void *of)
{
	struct conn *conn = of;
	struct work w = { .c = conn->c };
	for (int n = 0; receives(conn->c, &w.truth, conn->port, n); n++) {
		w.truth.loop = (long)conn;
		submits(&w);
		pthread_mutex_lock(&conn->lock);
		while (!conn->done) pthread_cond_wait(&conn->is_done, &conn->lock);
		conn->done = 0;
		pthread_mutex_unlock(&conn->lock);
		send(conn->c, "ok\n", 3, 0);
		tells(&w.truth);
		pthread_mutex_lock(&log_lock);
		pthread_mutex_unlock(&log_lock);
	}
	close(conn->c);
	return 0;
}

int main(int argc, char **argv)
{
	int s = listens(argv);
	pthread_t t;
	for (int i = 0; i < 16; i++) pthread_create(&t, 0, works, 0);
	for (;;) {
		struct conn *conn = calloc(1, sizeof(*conn));
		pthread_mutex_init(&conn->lock, 0);
		pthread_cond_init(&conn->is_done, 0);
		conn->c = accepts(s, &conn->port);
		pthread_create(&t, 0, serves, conn);
		pthread_detach(t);
	}
}
