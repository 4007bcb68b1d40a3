# Tries 7,680 passwords with four workers.
import concurrent.futures as cf, sys

def guess(word):
    x = 5381
    for r in range(60):
        for ch in word:
            x = (x * 33 ^ ch) & 0xFFFFFFFF
    return x

def attempt(part):
    return min(guess(b"password-%d-of-a-list" % i) for i in range(part * 120, part * 120 + 120))

if __name__ == "__main__":
    kind = cf.ThreadPoolExecutor if sys.argv[1] == "thread" else cf.ProcessPoolExecutor
    with kind(4) as pool:
        print(min(pool.map(attempt, range(0, 64))))
