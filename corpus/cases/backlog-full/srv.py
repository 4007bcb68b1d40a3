# Serves one client after another; the first word on a connection may set the listen queue.
import socket, sys, time
s = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=3)
while True:
    c, _ = s.accept()
    try:
        word = c.recv(100)
        if word in (b"short", b"long"):
            s.listen(3 if word == b"short" else 200)
        time.sleep(0.01)
        c.sendall(b"ok")
    except OSError:
        pass
    c.close()
