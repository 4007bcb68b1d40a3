"""Pure Python: an interpreter that computes, allocates small objects and calls functions, and times itself."""
import builtins
import os
import sys
import time

# Given by line_profiler's kernprof; a mark that does nothing otherwise.
profile = getattr(builtins, "profile", lambda function: function)


@profile
def primes(limit):
    """The sieve of Eratosthenes over a list."""
    sieve = [True] * limit
    for n in range(2, int(limit**0.5) + 1):
        if sieve[n]:
            for multiple in range(n * n, limit, n):
                sieve[multiple] = False
    return [n for n in range(2, limit) if sieve[n]]


@profile
def words(count):
    """Counts words in a dictionary of strings."""
    seen = {}
    for n in range(count):
        word = "w" + str(n * n % 9973)
        seen[word] = seen.get(word, 0) + 1
    return len(seen)


rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 4
total = 0
begun = time.monotonic_ns()
for _ in range(rounds):
    total += len(primes(300_000)) + words(200_000)
assert total == rounds * (25_997 + 4_987), total
took = time.monotonic_ns() - begun
if "BENCH_RESULT" in os.environ:
    with open(os.environ["BENCH_RESULT"], "w") as result:
        print(took / rounds, file=result)
