"""Work for CPython: threads that share the interpreter's lock, an event loop, processes, a queue,
and a parent that polls for its child."""

import asyncio
import multiprocessing
import queue
import resource
import subprocess
import sys
import threading
import time


def compute(seconds):
    end = time.monotonic() + seconds
    total = 0
    while time.monotonic() < end:
        for i in range(20000):
            total += i * i % 7
    return total


def threads(seconds):
    both = [threading.Thread(target=compute, args=(seconds,)) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()


async def many_sleepers(seconds):
    async def sleeper():
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await asyncio.sleep(0.05)

    await asyncio.gather(*(sleeper() for _ in range(20)))


def sleepers(seconds):
    asyncio.run(many_sleepers(seconds))


def processes(seconds):
    with multiprocessing.Pool(2) as pool:
        pool.map(compute, [seconds] * 2)


def programs(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        subprocess.run(["/bin/true"], check=True)


def consumer(seconds):
    pieces = queue.Queue(maxsize=4)

    def consume():
        while (piece := pieces.get()) is not None:
            sum(i * i % 7 for i in range(piece))

    thread = threading.Thread(target=consume)
    thread.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pieces.put(20000)
    pieces.put(None)
    thread.join()


def poller(seconds):
    command = [sys.executable, __file__, "alone", str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
        while child.poll() is None:
            time.sleep(0.005)


def own_clock():
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(who) for who in whose]
    print("own cpu_ns", int(sum(one.ru_utime + one.ru_stime for one in used) * 1e9))


MODES = {
    "alone": compute,
    "threads": threads,
    "sleepers": sleepers,
    "processes": processes,
    "programs": programs,
    "consumer": consumer,
    "poller": poller,
}

if __name__ == "__main__":
    MODES[sys.argv[1]](float(sys.argv[2]))
    own_clock()
