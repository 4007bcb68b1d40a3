# Four workers; "bound" does what the import of a numeric library did.
import multiprocessing, os, sys

def worker(n):
    x = n
    for i in range(1500000):
        x = (x * 31 + i) & 0xFFFF
    return x

if __name__ == "__main__":
    if sys.argv[1] == "bound":
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with multiprocessing.Pool(4) as pool:
        print(pool.map(worker, range(4)))
