/* A small interpreter: each call of a function of the script is a protected block, which an error
   inside of it leaves with a long jump. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

struct block {
    sigjmp_buf at;
    struct block *outer;
};

static struct block *current;
static int save_mask = 1;

static void throw_error(void)
{
    siglongjmp(current->at, 1);
}

static long body(long x)
{
    if (x % 1000 == 999)
        throw_error();
    long sum = 0;
    for (long k = 1; k < 40; k++)
        sum += (x * k) % (k + 5);
    return sum;
}

static long call_protected(long x)
{
    struct block here;
    long value;
    here.outer = current;
    if (sigsetjmp(here.at, save_mask) == 0) {
        current = &here;
        value = body(x);
    } else {
        value = -1;
    }
    current = here.outer;
    return value;
}

int main(int argc, char **argv)
{
    save_mask = !(argc > 1 && !strcmp(argv[1], "plain"));
    long sum = 0;
    for (long x = 0; x < 2500000; x++)
        sum += call_protected(x);
    printf("%ld\n", sum);
    return 0;
}
