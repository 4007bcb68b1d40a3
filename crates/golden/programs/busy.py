"""Python that works and waits: busy.py gil|tasks|lines|server."""
import sys
import threading
import time


def work(seconds):
    until = time.monotonic() + seconds
    total = 0
    while time.monotonic() < until:
        for number in range(2000):
            total += number * number
    return total


def gil():
    threads = [threading.Thread(target=work, args=(0.04,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


async def step(asyncio, seconds):
    await asyncio.sleep(seconds)
    work(0.002)


async def tasks(asyncio):
    await asyncio.gather(*(step(asyncio, 0.004 * number) for number in range(1, 5)))


def server():
    while True:
        work(0.005)
        time.sleep(0.01)


what = sys.argv[1]
if what == "gil":
    gil()
elif what == "tasks":
    # Only here: its import is most of what a short program does.
    import asyncio
    asyncio.run(tasks(asyncio))
elif what == "server":
    server()
else:
    work(0.06)
    time.sleep(0.01)
