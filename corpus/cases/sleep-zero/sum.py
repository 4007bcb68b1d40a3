"""Computes in a thread, while the main thread waits for the result."""
import sys
import threading
import time

result = []


def compute():
    total = 0
    for number in range(6_000_000):
        total += number & 7
    result.append(total)


worker = threading.Thread(target=compute)
worker.start()
if sys.argv[1] == "look":
    while not result:
        time.sleep(0)
worker.join()
print(result[0])
