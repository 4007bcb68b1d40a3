# Counts primes below some limits with two processes.
import multiprocessing

def primes(n):
    sieve = bytearray([1]) * n
    for i in range(2, int(n ** 0.5) + 1):
        if sieve[i]:
            sieve[i * i::i] = bytes(len(range(i * i, n, i)))
    return sum(sieve) - 2

if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(sum(pool.imap_unordered(primes, range(900000, 1500000, 20000))))
