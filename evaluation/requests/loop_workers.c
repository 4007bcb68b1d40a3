/* One thread with epoll receives and answers; two threads work and hand back what is done through
 * an eventfd. Plans: pool (a sleep of a worker), cpu, lock. ARGS: PORT PEER-PORT TRUTH */
#include "truth.h"
#include "queue.h"

static struct work *done;
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static int told;

static void *works(void *none)
{
	for (;;) {
		struct work *w = takes();
		planted(&w->truth);
		pthread_mutex_lock(&done_lock);
		w->next = done, done = w;
		pthread_mutex_unlock(&done_lock);
		eventfd_write(told, 1);
	}
	return none;
}

static void answers(void)
{
	eventfd_t times;
	eventfd_read(told, &times);
	pthread_mutex_lock(&done_lock);
	struct work *w = done, *next;
	done = 0;
	pthread_mutex_unlock(&done_lock);
	for (; w; w = next) {
		next = w->next;
		send(w->c, "ok\n", 3, 0);
		tells(&w->truth);
		free(w);
	}
}

int main(int argc, char **argv)
{
	static int ports[1024], n[1024];
	int s = listens(argv), poll = epoll_create1(0), port, c;
	struct epoll_event e = { .events = EPOLLIN, .data.fd = s };
	pthread_t t;
	epoll_ctl(poll, EPOLL_CTL_ADD, s, &e);
	e.data.fd = told = eventfd(0, EFD_NONBLOCK);
	epoll_ctl(poll, EPOLL_CTL_ADD, told, &e);
	for (int i = 0; i < 2; i++) pthread_create(&t, 0, works, 0);
	while (epoll_wait(poll, &e, 1, -1) > 0 || errno == EINTR) {
		if ((c = e.data.fd) == s) {
			e.data.fd = c = accepts(s, &port);
			ports[c] = port, n[c] = 0;
			epoll_ctl(poll, EPOLL_CTL_ADD, c, &e);
		} else if (c == told) {
			answers();
		} else {
			struct work *w = malloc(sizeof(*w));
			w->c = c;
			if (receives(c, &w->truth, ports[c], n[c]++)) submits(w);
			else close(c), free(w);
		}
	}
}
