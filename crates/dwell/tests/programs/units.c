/*
 * Pieces of work, a hundred of each kind: calls of `handle` (of which every twentieth sleeps for 20 ms,
 * and every third is by itself), of `fails` (which is left by longjmp every fourth time), of `hands_on`
 * (which ends in another function's call), of `counts` (which jumps to its entry), of `table` (which has
 * data behind it that looks like returns, and no size), and what is between two probes.
 */
#include <setjmp.h>
#include <stdio.h>
#include <time.h>

/* As <sys/sdt.h> notes a probe. */
#define PROBE(provider, name, semaphore)                                                               \
	__asm__ volatile("990: nop\n"                                                                  \
			 ".pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n"                      \
			 ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"   \
			 "993: .8byte 990b, _.stapsdt.base, " semaphore "\n"                           \
			 ".asciz \"" provider "\"\n.asciz \"" name "\"\n.asciz \"\"\n994: .balign 4\n" \
			 ".popsection\n"                                                               \
			 ".ifndef _.stapsdt.base\n"                                                    \
			 ".pushsection .stapsdt.base,\"aG\",%progbits,.stapsdt.base,comdat\n"          \
			 ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"    \
			 ".size _.stapsdt.base, 1\n.popsection\n.endif\n")

__attribute__((section(".probes"))) volatile unsigned short order_listeners;
static volatile long sum;
static jmp_buf out;

static void sleeps(long ms)
{
	struct timespec time = { 0, ms * 1000000 };
	nanosleep(&time, 0);
}

static __attribute__((noinline)) void works(int n)
{
	for (int i = 0; i < n * 1000; i++)
		sum += i;
}

__attribute__((noinline)) int handle(int n)
{
	if (n < 0)
		return handle(-n) + 1;
	works(20);
	if (n % 20 == 7)
		sleeps(20);
	return n;
}

__attribute__((noinline)) int fails(int n)
{
	works(1);
	if (n % 4 == 1)
		longjmp(out, 1);
	return n;
}

/* So that a call after one that was left is not always as deep. */
static __attribute__((noinline)) int deeper(int n, int depth)
{
	char room[64];
	room[depth] = (char)n;
	__asm__ volatile("" : : "r"(room) : "memory");
	return depth ? deeper(n, depth - 1) + 1 : fails(n) + 1;
}

static __attribute__((noinline)) int ends(int n)
{
	works(1);
	return n + 1;
}

__attribute__((noinline)) int hands_on(int n)
{
	works(1);
	return ends(n + 1);
}

/* Each round begins at the entry. `choose` ends in another function's call where it is not 0. */
void counts(int *rounds);
int choose(int n);
int table(void);
__attribute__((noinline)) int chosen(int n)
{
	return n + 1;
}
extern const unsigned char behind_table[8];
#if defined(__x86_64__)
__asm__(".text\n.globl counts\n.type counts, @function\ncounts:\n"
	"decl (%rdi)\njnz counts\nret\n.size counts, .-counts\n"
	".globl choose\n.type choose, @function\nchoose:\n"
	"testl %edi, %edi\njnz chosen\nxorl %eax, %eax\nret\n.size choose, .-choose\n"
	".globl table\n.type table, @function\ntable:\nmovl $1, %eax\nret\n"
	".globl behind_table\nbehind_table:\n.byte 0xc3, 1, 2, 0xc3, 4, 5, 0xc3, 7\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl counts\n.type counts, %function\ncounts:\n"
	"ldr w1, [x0]\nsub w1, w1, #1\nstr w1, [x0]\ncbnz w1, counts\nret\n.size counts, .-counts\n"
	".globl choose\n.type choose, %function\nchoose:\n"
	"cbnz w0, chosen\nret\n.size choose, .-choose\n"
	".globl table\n.type table, %function\ntable:\nmov w0, #1\nret\n"
	".globl behind_table\nbehind_table:\n.4byte 0xd65f03c0, 0xd65f03c0\n");
#endif

int main(void)
{
	int listened = 0;
	long bytes = 0;
	for (int n = 0; n < 100; n++) {
		sum += handle(n % 3 ? n : -n);
		if (!setjmp(out))
			sum += deeper(n, n % 3);
		sum += hands_on(n);
		sum += choose(n) + table();
		int rounds = 100;
		counts(&rounds);
		if (order_listeners) {
			listened++;
			PROBE("shop", "order__start", "order_listeners");
		}
		works(5);
		PROBE("shop", "order__done", "0");
		PROBE("shop", "frame", "0");
	}
	for (int at = 0; at < 8; at++)
		bytes += behind_table[at];
	printf("listened %d, bytes %ld\n", listened, bytes);
}
