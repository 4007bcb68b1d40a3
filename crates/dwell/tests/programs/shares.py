"""Two functions with known shares of the CPU, at the end of a chain of calls."""
import json
import sys
import time


def adds(rounds):
    value = 1
    for i in range(rounds):
        value += value ^ i  # line of adds
        value &= 0xFFFFFFFF
    return value


def joins(rounds):
    text = ""
    for i in range(rounds):
        text = "%s%d" % (text[-20:], i)  # line of joins
    return text


def outer(what, until_s):
    begun = time.thread_time()
    while time.thread_time() - begun < until_s:
        what(2000)
    return int((time.thread_time() - begun) * 1e9)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    ns = {"adds": outer(adds, 0.7 * seconds), "joins": outer(joins, 0.3 * seconds)}
    print(json.dumps({"program": "shares.py", "ns": ns}))


main()
