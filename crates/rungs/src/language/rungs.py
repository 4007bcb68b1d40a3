# What `dwell ladder` runs in python3: times one statement, given as text, for so many nanoseconds. Prints who it is,
# operations of a sample, and for each sample its time and that of the loop without the statement.
import gc
import sys
import time

LOOP = """
def run(turns, x, f, C):
    begun = now()
    for _ in turns:
        {}
    return now() - begun
"""
REPEATS = 10
SAMPLE_NS = 200000
SAMPLES_MAX = 2000


def f():
    pass


class C:
    pass


def timed(statement):
    names = {"now": time.perf_counter_ns}
    exec(LOOP.format("; ".join([statement] * REPEATS)), names)
    return lambda turns: names["run"](range(turns), 1, f, C)


def main(statement, budget_ns):
    gc.disable()
    until = time.perf_counter_ns() + budget_ns
    loop, empty = timed(statement), timed("pass")
    turns = 10
    # Twice each: what an interpreter does to code that is run often is done by then.
    while min(loop(turns), loop(turns)) < SAMPLE_NS:
        turns *= 2
    empty(turns)
    samples = []
    while len(samples) < SAMPLES_MAX and (not samples or time.perf_counter_ns() < until):
        samples.append((loop(turns), empty(turns)))
    version = ".".join(str(part) for part in sys.version_info[:3])
    name = {"cpython": "CPython"}.get(sys.implementation.name, sys.implementation.name)
    print(name, version)
    print(turns * REPEATS)
    for took, less in samples:
        print(took, less)


main(sys.argv[1], int(sys.argv[2]))
