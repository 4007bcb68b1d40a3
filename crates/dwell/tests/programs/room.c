/* Works below a function with a large array that nobody has touched yet: those pages of the stack are not there. */
#include <stdint.h>
#include <time.h>

static volatile uint64_t sink;

__attribute__((noinline, noclone)) static uint64_t works(volatile char *room)
{
    struct timespec now;
    room[0] = 1;
    do {
        for (int i = 0; i < 100000; i++)
            sink += (uint64_t)i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while (now.tv_nsec < 300000000 && now.tv_sec == 0);
    return sink;
}

__attribute__((noinline, noclone)) static int has_room(void)
{
    volatile char room[16384];
    return works(room) == 0 && room[0] == 0;
}

int main(void)
{
    return has_room() + 1 == 3; /* more than the call, or it would be a jump */
}
