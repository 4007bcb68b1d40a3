"""Two threads that stand still in known functions. `# at N` marks the lines of the main thread, innermost first,
`# thread N` those of the other."""
import functools
import threading
import time


class Café:
    def méthode(self, seconds):
        time.sleep(seconds)  # at 0


def generator(seconds):
    for _ in range(3):
        yield Café().méthode(seconds)  # at 1


def key(seconds):
    for result in generator(seconds):  # at 2
        return result


def recursive(depth, seconds):
    if depth == 0:
        return sorted([seconds], key=key)  # at 3
    return recursive(depth - 1, seconds)  # at 4


def waits(lock):
    with lock:  # thread 0
        pass


def main():
    lock = threading.Lock()
    lock.acquire()
    other = threading.Thread(target=functools.partial(waits, lock), daemon=True)
    other.start()
    print("ready", flush=True)
    recursive(1, 1000)  # at 5


main()  # at 6
