/* A 32-bit program without a C library: it works, and then it sleeps. */
static int call2(int number, const void *a, const void *b)
{
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "0"(number), "b"(a), "c"(b) : "memory");
    return result;
}

__attribute__((noinline)) static unsigned works(void)
{
    volatile unsigned value = 1;
    for (unsigned i = 0; i < 300000000u; i++)
        value = value * 13 + i;
    return value;
}

void _start(void)
{
    struct {
        int s, ns;
    } time = {0, 100000000};
    works();
    call2(162, &time, 0);
    call2(1, 0, 0);
}
