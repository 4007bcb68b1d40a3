# Ten threads make 12 tiles each; a tile needs a connection from the pool.
import queue, socket, sys, threading
pool = queue.Queue()
for _ in range(int(sys.argv[2])):
    pool.put(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))

def tile():
    c = pool.get()
    try:
        c.sendall(b"select geometry")
        return c.recv(100)
    finally:
        pool.put(c)

def worker():
    for _ in range(12):
        tile()

ts = [threading.Thread(target=worker) for _ in range(10)]
[t.start() for t in ts]
[t.join() for t in ts]
print("made")
