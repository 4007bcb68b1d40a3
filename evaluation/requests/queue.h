/* A queue of requests between threads: a mutex and a condition variable. */
struct work { struct work *next; int c; ns submitted; struct truth truth; };
static struct work *first, **last = &first;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;

static void submits(struct work *w)
{
	w->next = 0;
	w->submitted = now();
	pthread_mutex_lock(&queue);
	*last = w, last = &w->next;
	pthread_cond_signal(&not_empty);
	pthread_mutex_unlock(&queue);
}
static struct work *takes(void)
{
	pthread_mutex_lock(&queue);
	while (!first) pthread_cond_wait(&not_empty, &queue);
	struct work *w = first;
	if (!(first = w->next)) last = &first;
	pthread_mutex_unlock(&queue);
	w->truth.queued += now() - w->submitted;
	return w;
}
