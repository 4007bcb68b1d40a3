# Visits states in the order in which they were found.
import sys
from collections import deque

def search(fringe, take):
    n = total = 0
    while fringe:
        state = take()
        total += state
        n += 1
    return n, total

states = range(100000)
if sys.argv[1] == "list":
    fringe = list(states)
    take = lambda: fringe.pop(0)
else:
    fringe = deque(states)
    take = fringe.popleft
print(search(fringe, take))
