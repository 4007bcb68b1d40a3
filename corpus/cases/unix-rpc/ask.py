"""Asks a helper for the prices of items."""
import json
import os
import socket
import sys
import time


def helper(end):
    """A message costs two milliseconds to answer, however many items it has."""
    with end.makefile("rw") as lines:
        for line in lines:
            items = json.loads(line)
            time.sleep(0.002)
            lines.write(json.dumps([item * 3 % 101 for item in items]) + "\n")
            lines.flush()


def main():
    here, there = socket.socketpair()
    if os.fork() == 0:
        here.close()
        helper(there)
        os._exit(0)
    there.close()
    items = list(range(250))
    prices = []
    with here.makefile("rw") as lines:
        for message in [[item] for item in items] if sys.argv[1] == "each" else [items]:
            lines.write(json.dumps(message) + "\n")
            lines.flush()
            prices += json.loads(lines.readline())
    here.close()
    os.wait()
    print(sum(prices))


main()
