"""A service as uvicorn serves it: one event loop. Of PLANT requests one is planted: it makes a
report in the loop, which nobody else gets past.
"""
import asyncio
import itertools
import os

EVERY = int(os.environ.get("PLANT", "0"))
count = itertools.count(1)


def report(rows=300_000):
    total = 0
    for row in range(rows):
        total += row * row % 7
    return total


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    if EVERY and next(count) % EVERY == 0:
        report()
    await asyncio.sleep(0.001)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"3")]})
    await send({"type": "http.response.body", "body": b"ok\n"})
