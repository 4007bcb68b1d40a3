# A writer computes ten blocks; the reader takes each.
import mmap, os, sys
shared = mmap.mmap(-1, 4096)
r, w = os.pipe()

def write():
    x = 1
    for n in range(1, 11):
        for i in range(700000):
            x = (x * 31 + i) & 0xFFFF
        shared[8:16] = x.to_bytes(8, "little")
        shared[0] = n
        os.write(w, b".")

def take(n):
    while shared[0] < n:
        if sys.argv[1] == "yield":
            os.sched_yield()
        else:
            os.read(r, 1)
    return int.from_bytes(shared[8:16], "little")

if not os.fork():
    write()
    os._exit(0)
for n in range(1, 11):
    last = take(n)
os.wait()
print(last)
