# Exchanges 120 messages with an echo that takes 1 ms, while an index is made in the background.
import multiprocessing, os, socket, sys, threading, time

def index():
    x = 1
    while True:
        x = (x * 31 + 7) & 0xFFFF

def talk(s):
    n = 0
    for i in range(120):
        s.sendall(b"message %d" % i)
        n += len(s.recv(100))
    return n

if __name__ == "__main__":
    here, there = socket.socketpair()
    if not os.fork():
        here.close()
        while b := there.recv(100):
            time.sleep(0.001)
            there.sendall(b)
        os._exit(0)
    there.close()
    kind = threading.Thread if sys.argv[1] == "thread" else multiprocessing.Process
    kind(target=index, daemon=True).start()
    print(talk(here))
