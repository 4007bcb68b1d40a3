"""Waits of different kinds, each from a function of its own."""
import json
import queue
import threading
import time

lock = threading.Lock()
held = threading.Event()
parcels = queue.Queue()


def holds_the_lock():
    with lock:
        held.set()
        time.sleep(0.15)


def fills_the_queue():
    time.sleep(0.12)
    parcels.put(1)


def waits_for_the_clock():
    time.sleep(0.2)


def waits_for_the_lock():
    with lock:
        pass


def waits_for_the_queue():
    parcels.get()


def timed(what):
    begun = time.monotonic_ns()
    what()
    return time.monotonic_ns() - begun


ns = {"slept": timed(waits_for_the_clock)}
holder = threading.Thread(target=holds_the_lock)
holder.start()
held.wait()
ns["locked"] = timed(waits_for_the_lock)
holder.join()
filler = threading.Thread(target=fills_the_queue)
filler.start()
getter = threading.Thread(target=waits_for_the_queue)
getter.start()
getter.join()
filler.join()
print(json.dumps({"program": "waits.py", "ns": ns}))
