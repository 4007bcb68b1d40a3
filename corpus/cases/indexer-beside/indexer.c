/* An indexer that works with three threads as long as a client is there: at normal priority when
   the client says 'n', at the lowest when it says 'l'. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int busy;
static int low;
static volatile unsigned sink;

static void *index_words(void *unused)
{
    if (low)
        setpriority(PRIO_PROCESS, syscall(SYS_gettid), 19);
    unsigned h = 1;
    while (atomic_load_explicit(&busy, memory_order_relaxed))
        for (int i = 0; i < 10000; i++)
            h = h * 31 + i;
    sink = h;
    return unused;
}

int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[argc - 1]))};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 8))
        return 1;
    for (;;) {
        int link = accept(listener, NULL, NULL);
        char how;
        if (read(link, &how, 1) == 1) {
            pthread_t threads[3];
            low = how == 'l';
            atomic_store(&busy, 1);
            for (int i = 0; i < 3; i++)
                pthread_create(&threads[i], NULL, index_words, NULL);
            while (read(link, &how, 1) > 0)
                ;
            atomic_store(&busy, 0);
            for (int i = 0; i < 3; i++)
                pthread_join(threads[i], NULL);
        }
        close(link);
    }
}
