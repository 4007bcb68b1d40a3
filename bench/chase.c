/* Dependent loads by another method than dwell's: a linked list with one node per cache line, in an
 * order shuffled as a whole (Fisher-Yates), walked by the code that the compiler generates for
 * `node = node->next`.
 *
 * BYTES of nodes, for MILLISECONDS. Reports how many KiB of the memory are in huge pages; then the
 * time of a load, the median of many passes. */
#define _GNU_SOURCE
#include "result.h"
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define LINE 64
#define HUGE_BYTES (2UL << 20)
#define PASS_NS 20000
#define PASSES_MOST 100000

struct node {
	struct node *next;
	char rest[LINE - sizeof(struct node *)];
};

static uint64_t state;

/* splitmix64 (S. Vigna). */
static uint64_t draw(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* Reserved huge pages, else transparent ones, as dwell asks for them. */
static struct node *obtain(size_t bytes)
{
	size_t whole = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
	char *at = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);

	if (at != MAP_FAILED)
		return (struct node *)at;
	at = mmap(NULL, whole + HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	at = (char *)(((uintptr_t)at + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES);
	madvise(at, whole, MADV_HUGEPAGE);
	memset(at, 1, whole);
	return (struct node *)at;
}

static struct node *link_all(struct node *nodes, size_t count)
{
	uint32_t *order = malloc(count * sizeof *order);

	if (!order)
		return NULL;
	for (size_t i = 0; i < count; i++)
		order[i] = i;
	for (size_t i = count - 1; i > 0; i--) {
		size_t j = draw() % (i + 1);
		uint32_t kept = order[i];

		order[i] = order[j];
		order[j] = kept;
	}
	for (size_t i = 0; i < count; i++)
		nodes[order[i]].next = &nodes[order[(i + 1) % count]];
	struct node *first = &nodes[order[0]];
	free(order);
	return first;
}

static struct node *walk(struct node *node, long loads)
{
	for (long i = 0; i < loads; i += 8) {
		node = node->next;
		node = node->next;
		node = node->next;
		node = node->next;
		node = node->next;
		node = node->next;
		node = node->next;
		node = node->next;
	}
	return node;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of all memory of this process, of which the nodes are nearly all. */
static long huge_kib(void)
{
	char line[256];
	long sum = 0, kib;
	FILE *file = fopen("/proc/self/smaps_rollup", "r");

	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "AnonHugePages: %ld", &kib) == 1 || sscanf(line, "Private_Hugetlb: %ld", &kib) == 1)
			sum += kib;
	if (file)
		fclose(file);
	return sum;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	size_t bytes = strtoull(argv[1], NULL, 10);
	double span_ns = (argc > 2 ? atof(argv[2]) : 500) * 1e6;
	struct node *nodes = bytes >= 2 * LINE ? obtain(bytes) : NULL;

	state = (uint64_t)now_ns();
	struct node *at = nodes ? link_all(nodes, bytes / LINE) : NULL;
	double *passes = malloc(PASSES_MOST * sizeof *passes);
	if (!at || !passes) {
		fprintf(stderr, "no memory\n");
		return 1;
	}
	long loads = 64;
	for (double took = 0; took < PASS_NS && loads < 1L << 30; loads *= 2) {
		double from = now_ns();
		at = walk(at, loads);
		took = now_ns() - from;
	}
	long count = 0;
	double begun = now_ns();
	while (now_ns() - begun < span_ns && count < PASSES_MOST) {
		double from = now_ns();
		at = walk(at, loads);
		double took = now_ns() - from;
		/* An eighth of the time warms up. */
		if (now_ns() - begun > span_ns / 8)
			passes[count++] = took / loads;
	}
	/* Nodes that are never read need not be reached. */
	volatile struct node *end = at;
	if (!end || !count)
		return 1;
	qsort(passes, count, sizeof *passes, ascending);
	printf("%ld\n", huge_kib());
	return report(passes[count / 2]);
}
