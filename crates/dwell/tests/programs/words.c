/* Counts the words of files: a small program of the usual kind. The tests compile it, which is one of the programs
   that dwell is tried on, and run it: it reads with stdio, looks for files that are not there, and sorts. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct word {
    struct word *next;
    char *text;
    unsigned long count;
};

struct table {
    struct word **buckets;
    size_t size, used;
};

static unsigned long hash(const char *text)
{
    unsigned long value = 14695981039346656037UL;
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * 1099511628211UL;
    return value;
}

static void *must(void *memory)
{
    if (!memory) {
        perror("words: no memory");
        exit(1);
    }
    return memory;
}

static void grow(struct table *table)
{
    size_t size = table->size ? 2 * table->size : 64;
    struct word **buckets = must(calloc(size, sizeof *buckets));
    for (size_t i = 0; i < table->size; i++) {
        struct word *word = table->buckets[i];
        while (word) {
            struct word *next = word->next;
            size_t at = hash(word->text) & (size - 1);
            word->next = buckets[at];
            buckets[at] = word;
            word = next;
        }
    }
    free(table->buckets);
    table->buckets = buckets;
    table->size = size;
}

static void add(struct table *table, const char *text)
{
    if (table->used >= table->size)
        grow(table);
    struct word **at = &table->buckets[hash(text) & (table->size - 1)];
    for (struct word *word = *at; word; word = word->next)
        if (!strcmp(word->text, text)) {
            word->count++;
            return;
        }
    struct word *word = must(malloc(sizeof *word));
    word->text = must(strdup(text));
    word->count = 1;
    word->next = *at;
    *at = word;
    table->used++;
}

static int read_file(struct table *table, const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) {
        fprintf(stderr, "words: %s: %s\n", path, errno ? strerror(errno) : "not a file");
        return 1;
    }
    FILE *file = fopen(path, "r");
    if (!file)
        return 1;
    char text[64];
    size_t length = 0;
    for (int c = getc(file); c != EOF; c = getc(file)) {
        if (isalnum(c) && length + 1 < sizeof text) {
            text[length++] = (char)tolower(c);
        } else if (length > 0) {
            text[length] = 0;
            add(table, text);
            length = 0;
        }
    }
    if (length > 0) {
        text[length] = 0;
        add(table, text);
    }
    fclose(file);
    return 0;
}

static int more_often(const void *left, const void *right)
{
    const struct word *a = *(struct word *const *)left, *b = *(struct word *const *)right;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return strcmp(a->text, b->text);
}

static double entropy(struct word **words, size_t count)
{
    double total = 0, bits = 0;
    for (size_t i = 0; i < count; i++)
        total += (double)words[i]->count;
    for (size_t i = 0; i < count; i++) {
        double share = (double)words[i]->count / total;
        bits -= share * log2(share);
    }
    return count ? bits : 0;
}

int main(int count, char **arguments)
{
    struct table table = {0};
    int missing = 0;
    for (int i = 1; i < count; i++)
        missing += read_file(&table, arguments[i]);
    struct word **words = must(calloc(table.used + 1, sizeof *words));
    size_t filled = 0;
    for (size_t i = 0; i < table.size; i++)
        for (struct word *word = table.buckets[i]; word; word = word->next)
            words[filled++] = word;
    qsort(words, filled, sizeof *words, more_often);
    for (size_t i = 0; i < filled && i < 20; i++)
        printf("%8lu %s\n", words[i]->count, words[i]->text);
    printf("%zu words, %.3f bits\n", filled, entropy(words, filled));
    fflush(stdout);
    char unread[1];
    if (access("/nowhere", R_OK) != 0 && read(-1, unread, sizeof unread) < 0)
        missing++;
    return missing ? 3 : 0;
}
