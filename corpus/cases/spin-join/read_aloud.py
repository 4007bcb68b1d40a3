# Prepares a text in a second thread while the first waits for it.
import sys
import threading


def prepare(result):
    syllables = {}
    word = 1
    for _ in range(1_300_000):
        word = (word * 48271) % 2147483647
        ending = word % 997
        syllables[ending] = syllables.get(ending, 0) + (word & 7)
    result.append(sum(syllables.values()))


result = []
worker = threading.Thread(target=prepare, args=(result,))
worker.start()
if sys.argv[1:] == ["join"]:
    worker.join()
else:
    while worker.is_alive():
        pass
print(result[0])
