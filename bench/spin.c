/* spin ROUNDS: arithmetic, for a time in proportion to ROUNDS.
 * spin half SECONDS: takes a CPU for half of the time, in pieces of 10 ms. */
#include "result.h"
#include <stdint.h>
#include <string.h>

static uint64_t churn(uint64_t x, long rounds)
{
	for (long i = 0; i < rounds; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

int main(int argc, char **argv)
{
	volatile uint64_t kept = 1;
	struct timespec pause = { 0, 10000000 };

	if (argc == 2) {
		kept = churn(kept, atol(argv[1]));
		return 0;
	}
	if (argc != 3 || strcmp(argv[1], "half"))
		return 2;
	double end = now_ns() + 1e9 * atof(argv[2]);
	while (now_ns() < end) {
		double piece = now_ns() + 1e7;
		while (now_ns() < piece)
			kept = churn(kept, 1000);
		nanosleep(&pause, NULL);
	}
	return 0;
}
