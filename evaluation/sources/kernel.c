/* Programs that are the kernel's work: memory that is touched for the first time again and again,
 * and two processes that pass a byte to and fro. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIZE (64L << 20)

static double now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static void touch(double length)
{
	double end = now() + length;
	while (now() < end) {
		char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			exit(3);
		madvise(memory, SIZE, MADV_NOHUGEPAGE);
		for (long at = 0; at < SIZE; at += 4096)
			memory[at] = 1;
		munmap(memory, SIZE);
	}
}

static void pass(double length)
{
	int there[2], back[2];
	char byte = 1;
	if (pipe(there) || pipe(back))
		exit(3);
	if (fork() == 0) {
		close(there[1]);
		while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	double end = now() + length;
	while (now() < end)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			exit(3);
	close(there[1]);
	wait(NULL);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "touch"))
		touch(atof(argv[2]));
	else if (!strcmp(argv[1], "pass"))
		pass(atof(argv[2]));
	else
		return 2;
	return 0;
}
