/* Touches memory in four mappings, each in a function of its own: 8,192 pages of each of the first
 * three, some more of a thread's stack. Its argument is a file to map. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES (32 << 20)
#define PAGE 4096

__attribute__((noinline)) static void touch_heap(char *at)
{
	for (long i = 0; i < BYTES; i += PAGE)
		at[i] = 1;
}

__attribute__((noinline)) static void touch_anonymous(char *at)
{
	for (long i = 0; i < BYTES; i += PAGE)
		at[i] = 2;
}

__attribute__((noinline)) static void touch_file(char *at)
{
	for (long i = 0; i < BYTES; i += PAGE)
		at[i] = 3;
}

static void *touch_stack(void *none)
{
	volatile char own[4 << 20];
	for (long i = 0; i < (long)sizeof(own); i += PAGE)
		own[i] = 4;
	return none;
}

int main(int argc, char **argv)
{
	char *anonymous = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int file = open(argv[argc - 1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (anonymous == MAP_FAILED || file < 0 || ftruncate(file, BYTES))
		return 1;
	char *mapped = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	char *heap = sbrk(BYTES);
	if (mapped == MAP_FAILED || heap == (void *)-1)
		return 1;
	/* A large page would be one fault. */
	madvise(anonymous, BYTES, MADV_NOHUGEPAGE);
	madvise((char *)(((unsigned long)heap + PAGE - 1) & -PAGE), BYTES - PAGE, MADV_NOHUGEPAGE);
	touch_heap(heap);
	touch_anonymous(anonymous);
	touch_file(mapped);
	for (int i = 0; i < 16; i++) {
		pthread_t thread;
		if (pthread_create(&thread, 0, touch_stack, 0) || pthread_join(thread, 0))
			return 1;
	}
	return 0;
}
