/* A list of a million nodes, each allocated separately, filled, and walked once. The walk is not
 * what takes the time: it is the allocator, and the kernel, which clears pages. bench/bump.c is the
 * same list without either. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *next;
    uint64_t value;
};

int main(int count, char **arguments)
{
    long nodes = count > 1 ? atol(arguments[1]) : 1000000, rounds = count > 2 ? atol(arguments[2]) : 1;
    uint64_t sum = 0;

    for (long round = 0; round < rounds; round++) {
        struct node *first = 0;

        for (long i = 0; i < nodes; i++) {
            struct node *node = malloc(sizeof *node);

            if (!node)
                return 1;
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
