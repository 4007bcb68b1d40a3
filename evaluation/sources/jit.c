/* Machine code that is made while the program runs, as a runtime makes it, and a perf map of it:
 * none, right, or of a kind that must not be believed.
 *
 *   jit none|named|stale|foreign|hostile|large SECONDS */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534
#define MEGABYTE (1L << 20)

/* Counts down to zero and returns. */
#if defined(__x86_64__)
static const unsigned char code[] = { 0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0xc3 };
#elif defined(__aarch64__)
static const uint32_t code[] = { 0xf1000400, 0x54ffffe1, 0xd65f03c0 };
#else
#error "no machine code for this architecture"
#endif

static char path[64];

static FILE *map(void)
{
	snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
	unlink(path);
	FILE *file = fopen(path, "wx");
	if (!file)
		exit(3);
	return file;
}

static void entry(FILE *file, const void *at, const char *name)
{
	fprintf(file, "%lx %lx %s\n", (unsigned long)at, (unsigned long)sizeof code, name);
}

/* Left by a process that had this PID yesterday. */
static void stale(const void *at)
{
	FILE *file = map();
	entry(file, at, "wrong_name");
	fclose(file);
	struct timespec yesterday[2] = { { time(NULL) - 86400, 0 }, { time(NULL) - 86400, 0 } };
	if (utimensat(AT_FDCWD, path, yesterday, 0))
		exit(3);
}

/* Put there by another user. */
static void foreign(const void *at)
{
	FILE *file = map();
	entry(file, at, "wrong_name");
	fclose(file);
	if (chown(path, NOBODY, NOBODY))
		exit(3);
}

/* Written to do harm. */
static void hostile(const void *at)
{
	FILE *file = map();
	fputs("\n \n0\nnothing of sense\nffffffffffffffff ffffffffffffffff end\n0 ffffffffffffffff all\n"
	      "-5 -5 negative\n123456789123456789123456789 1 long\n\033[31m 1 \033[2Jred\n", file);
	fprintf(file, "%lx %lx \033[2J\033]0;title\007name\n", (unsigned long)at + 1, 1UL);
	for (long i = 0; i < MEGABYTE; i++)
		fputc('a', file);
	fputc('\n', file);
	fwrite("\0\0\377\376", 1, 4, file);
	fputc('\n', file);
	entry(file, at, "hot_loop");
	fputs("12 34 no end of line", file);
	fclose(file);
}

/* A hundred megabytes of other functions first. */
static void large(const void *at)
{
	static char block[MEGABYTE + 64];
	FILE *file = map();
	for (unsigned long i = 0; i < 100; i++) {
		size_t used = 0;
		for (unsigned long n = 0; used < MEGABYTE; n++)
			used += sprintf(block + used, "%lx 10 function_%lu\n", (i << 24) + n * 16, n);
		fwrite(block, 1, used, file);
	}
	entry(file, at, "hot_loop");
	fclose(file);
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static void own_clock(void)
{
	struct rusage self;
	getrusage(RUSAGE_SELF, &self);
	printf("own cpu_ns %lld\n", (self.ru_utime.tv_sec + self.ru_stime.tv_sec) * 1000000000LL +
	       (self.ru_utime.tv_usec + self.ru_stime.tv_usec) * 1000LL);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return 3;
	memcpy(at, code, sizeof code);
	__builtin___clear_cache(at, (char *)at + sizeof code);
	if (mprotect(at, 4096, PROT_READ | PROT_EXEC))
		return 3;
	if (!strcmp(argv[1], "named")) {
		FILE *file = map();
		entry(file, at, "hot_loop");
		fclose(file);
	} else if (!strcmp(argv[1], "stale"))
		stale(at);
	else if (!strcmp(argv[1], "foreign"))
		foreign(at);
	else if (!strcmp(argv[1], "hostile"))
		hostile(at);
	else if (!strcmp(argv[1], "large"))
		large(at);
	else if (strcmp(argv[1], "none"))
		return 2;
	void (*loop)(unsigned long) = (void (*)(unsigned long))at;
	double end = seconds() + atof(argv[2]);
	while (seconds() < end)
		loop(1000000);
	own_clock();
	return 0;
}
