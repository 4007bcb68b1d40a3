# Hands each question to a service in another process, and its answer back.
import os, socket, sys, time
back = socket.create_server(("127.0.0.1", 0))
if not os.fork():
    c, _ = back.accept()
    while True:
        word = c.recv(100)
        if not word:
            os._exit(0)
        time.sleep(0.06 if word == b"slow" else 0.002)
        c.sendall(b"answer")
up = socket.create_connection(back.getsockname())
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    c, _ = s.accept()
    with c:
        while word := c.recv(100):
            up.sendall(word)
            c.sendall(up.recv(100))
