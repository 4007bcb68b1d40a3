# Scores the rows of a table that all workers share since they are forked from one process.
import os
import sys
import zlib

ROWS, WIDTH = 60000, 220
packed = sys.argv[1:] == ["packed"]

if packed:
    # One object for all texts; the workers look at pieces of it.
    table = bytearray()
    for i in range(ROWS):
        table += (b"%08d" % (i * 7919 % 99991)).ljust(WIDTH, b".")
    table = bytes(table)
else:
    table = [(b"%08d" % (i * 7919 % 99991)).ljust(WIDTH, b".") for i in range(ROWS)]


def keys_of_objects():
    return [row[7] for row in table]


def keys_of_pieces():
    return list(table[7::WIDTH])


def score(worker):
    keys = keys_of_pieces() if packed else keys_of_objects()
    counts = [0] * 256
    for key in keys:
        counts[(key * worker) & 255] += 1
    text = b" ".join(b"%d" % (k * k) for k in keys)
    order = sorted(range(0, ROWS, 2), key=lambda i: (keys[i], -i))
    return zlib.crc32(text) ^ order[worker] ^ max(counts)


readers = []
for worker in range(1, 9):
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(read)
        os.write(write, b"%d" % score(worker))
        os._exit(0)
    os.close(write)
    readers.append(read)
    if len(readers) >= 2:  # as many workers at a time as there are CPUs
        os.wait()
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
print(sum(int(os.read(r, 64)) for r in readers))
