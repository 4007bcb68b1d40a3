// An interpreter's string: each + makes a new string and frees the old one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE "abcdefghijklmnopqrstuvwxyz+-"

static char *add(char *s, size_t *n) {
    size_t k = strlen(PIECE);
    char *r = malloc(*n + k + 1);
    memcpy(r, s, *n);
    memcpy(r + *n, PIECE, k + 1);
    free(s);
    *n += k;
    return r;
}

static char *grow(char *s, size_t *n, size_t *room) {
    size_t k = strlen(PIECE);
    if (*n + k + 1 > *room) s = realloc(s, *room = 2 * (*n + k + 1));
    memcpy(s + *n, PIECE, k + 1);
    *n += k;
    return s;
}

int main(int argc, char **argv) {
    size_t n = 0, room = 1;
    char *s = calloc(1, 1);
    int each = argc > 1 && !strcmp(argv[1], "each");
    for (int i = 0; i < 11000; i++) s = each ? add(s, &n) : grow(s, &n, &room);
    printf("%zu\n", n);
}
