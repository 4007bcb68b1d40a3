/* The cheapest system call, by its own instruction: a C library's function around it returns once
 * more, and a return after a call is expensive where the kernel flushes the return predictor. The
 * median of short passes. */
#include "result.h"

#define PASSES 5000
#define CALLS 200

static inline long call(void)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(110) : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long number __asm__("x8") = 173;
	register long result __asm__("x0");

	__asm__ volatile("svc 0" : "=r"(result) : "r"(number) : "memory");
	return result;
#else
#error "which instruction is a system call here?"
#endif
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	static double passes[PASSES];

	for (int i = 0; i < PASSES; i++) {
		double from = now_ns();
		for (int n = 0; n < CALLS; n++)
			call();
		passes[i] = (now_ns() - from) / CALLS;
	}
	qsort(passes, PASSES, sizeof *passes, ascending);
	return report(passes[PASSES / 2]);
}
