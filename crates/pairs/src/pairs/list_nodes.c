// A linked list of nodes: list_nodes each|bump|arena|pool NODES.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *next;
    char payload[20];
};

static struct node *volatile list;

// A node before the list.
static struct node *before(struct node *head, struct node *node, long at) {
    if (!node) exit(1);
    node->next = head;
    memset(node->payload, (int)at, sizeof node->payload);
    return node;
}

static void each(long nodes) {
    struct node *head = NULL;
    for (long at = 0; at < nodes; at++) {
        head = before(head, malloc(sizeof *head), at);
    }
    list = head;
}

static void bump(long nodes) {
    struct node *head = NULL, *block = malloc(nodes * sizeof *block);
    for (long at = 0; at < nodes; at++) {
        head = before(head, &block[at], at);
    }
    list = head;
}

static void arena(long nodes) {
    enum { MANY = (1 << 20) / sizeof(struct node) };
    struct node *head = NULL, *block = NULL;
    for (long at = 0; at < nodes; at++) {
        if (at % MANY == 0) block = malloc(MANY * sizeof *block);
        head = before(head, &block[at % MANY], at);
    }
    list = head;
}

static struct node *filled(void) {
    enum { MANY = 1000 };
    struct node *block = malloc(MANY * sizeof *block);
    for (int at = 0; at < MANY; at++) {
        block[at].next = at + 1 < MANY ? &block[at + 1] : NULL;
    }
    return block;
}

static void pool(long nodes) {
    struct node *head = NULL, *free = NULL;
    for (long at = 0; at < nodes; at++) {
        if (!free) free = filled();
        struct node *node = free;
        free = node->next;
        head = before(head, node, at);
    }
    list = head;
}

int main(int argc, char **argv) {
    const char *way = argc > 2 ? argv[1] : "";
    long nodes = argc > 2 ? atol(argv[2]) : 0;
    if (!strcmp(way, "each")) each(nodes);
    else if (!strcmp(way, "bump")) bump(nodes);
    else if (!strcmp(way, "arena")) arena(nodes);
    else if (!strcmp(way, "pool")) pool(nodes);
    else return fprintf(stderr, "usage: list_nodes each|bump|arena|pool NODES\n"), 2;
    return 0;
}
