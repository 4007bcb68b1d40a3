/* Calls a library. */
#include <time.h>

int exported_work(long turns);

int main(void)
{
    struct timespec now;
    do {
        if (exported_work(100000))
            return 1;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while (now.tv_nsec < 400000000 && now.tv_sec == 0);
    return 0;
}
