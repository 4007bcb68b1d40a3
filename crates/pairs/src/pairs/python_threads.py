"""Computes in threads, or in processes: threads.py threads|processes ROUNDS."""

import sys
from multiprocessing import Process
from threading import Thread

WORKERS = 4


def work(rounds):
    x = 1
    for _ in range(rounds):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return x


def threads(rounds):
    workers = [Thread(target=work, args=(rounds,)) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def processes(rounds):
    workers = [Process(target=work, args=(rounds,)) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


{"threads": threads, "processes": processes}[sys.argv[1]](int(sys.argv[2]) * 1000)
