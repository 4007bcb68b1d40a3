/* The list of bench/nodes.c from one block: a node costs an addition, and what is left is the walk
 * and the kernel's clearing of the pages. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

struct node {
    struct node *next;
    uint64_t value;
};

static char *block, *end;

static inline void *bump(size_t size)
{
    char *at = block;

    if ((size_t)(end - at) < size)
        exit(1);
    block = at + size;
    return at;
}

int main(int count, char **arguments)
{
    long nodes = count > 1 ? atol(arguments[1]) : 1000000, rounds = count > 2 ? atol(arguments[2]) : 1;
    size_t size = (size_t)nodes * (size_t)rounds * sizeof(struct node);
    uint64_t sum = 0;

    block = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        return 1;
    end = block + size;
    for (long round = 0; round < rounds; round++) {
        struct node *first = 0;

        for (long i = 0; i < nodes; i++) {
            struct node *node = bump(sizeof *node);

            node->value = (uint64_t)i;
            node->next = first;
            first = node;
        }
        for (struct node *node = first; node; node = node->next)
            sum += node->value;
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
