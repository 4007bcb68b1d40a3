"""Frames of less common kinds: a deep recursion, a generator, a coroutine, a child process and a thread."""
import asyncio
import multiprocessing
import sys
import threading
import time


def spin(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(1000))


def descend(levels):
    if levels:
        return descend(levels - 1) + 1
    spin(0.2)
    return 0


def produces():
    for i in range(2):
        spin(0.1)
        yield i


def consumes():
    return sum(produces())


async def awaited():
    spin(0.2)


async def awaits():
    await awaited()


def of_a_child():
    spin(0.2)


def of_a_thread():
    spin(0.2)


if __name__ == "__main__":
    sys.setrecursionlimit(5000)
    descend(500)
    consumes()
    asyncio.run(awaits())
    child = multiprocessing.get_context("fork").Process(target=of_a_child)
    child.start()
    child.join()
    thread = threading.Thread(target=of_a_thread)
    thread.start()
    thread.join()
