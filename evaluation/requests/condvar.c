/* A thread for each connection that receives, submits to a queue, and waits for its own condition
 * variable; two threads work; the one that received sends. Plans: pool, cpu.
 * With LOG a thread is free for every request; those that send take the lock of a log after the
 * answer, for which plan `log` makes them wait: a worker has it for MS, and then sleeps for MS. Who
 * is woken for the lock does not go on with the request. Plans: log.
 * ARGS: PORT PEER-PORT TRUTH */
#include "truth.h"
#include "queue.h"

struct conn { int c, port, done; pthread_mutex_t lock; pthread_cond_t is_done; };

#ifdef LOG
enum { WORKERS = 16 };
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void holds_log(struct truth *t)
{
	if (strcmp(t->plan, "log")) return;
	pthread_mutex_lock(&log_lock);
	sleeps(t);
	pthread_mutex_unlock(&log_lock);
	sleeps(t);
}
static void logs(void)
{
	pthread_mutex_lock(&log_lock);
	pthread_mutex_unlock(&log_lock);
}
#else
enum { WORKERS = 2 };
static void holds_log(struct truth *t) { (void)t; }
static void logs(void) { }
#endif

static void *works(void *none)
{
	for (;;) {
		struct work *w = takes();
		struct conn *conn = (void *)(long)w->truth.loop;
		w->truth.loop = 0;
		holds_log(&w->truth);
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
		logs();
	}
	close(conn->c);
	return 0;
}

int main(int argc, char **argv)
{
	int s = listens(argv);
	pthread_t t;
	for (int i = 0; i < WORKERS; i++) pthread_create(&t, 0, works, 0);
	for (;;) {
		struct conn *conn = calloc(1, sizeof(*conn));
		pthread_mutex_init(&conn->lock, 0);
		pthread_cond_init(&conn->is_done, 0);
		conn->c = accepts(s, &conn->port);
		pthread_create(&t, 0, serves, conn);
		pthread_detach(t);
	}
}
