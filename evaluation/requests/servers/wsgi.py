"""A service as gunicorn serves it: prices from a cache behind a lock.

Of PLANT requests one is planted: PLANTED=sleep sleeps in its handler, PLANTED=lock fills the cache
anew while it has the lock.
"""
import hashlib
import itertools
import os
import threading
import time

EVERY, PLANTED = int(os.environ.get("PLANT", "0")), os.environ.get("PLANTED", "")
count, cache = itertools.count(1), threading.Lock()


def is_planted(what):
    return PLANTED == what and EVERY and next(count) % EVERY == 0


def work():
    """Half a millisecond of a CPU."""
    return hashlib.pbkdf2_hmac("sha256", b"price", b"salt", 1000).hex()


def audit():
    time.sleep(0.04)


def price():
    with cache:
        if is_planted("lock"):
            time.sleep(0.04)
    return work()


def app(environ, start_response):
    if is_planted("sleep"):
        audit()
    body = price().encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
