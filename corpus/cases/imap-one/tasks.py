import sys
from multiprocessing import Pool


def task(number):
    return sum(i * number for i in range(60)) % 97


if __name__ == "__main__":
    with Pool(2) as pool:
        print(sum(pool.imap(task, range(6000), chunksize=int(sys.argv[1]))))
