# Makes a report in 0.9 s ("slow") or 0.2 s ("quick", with its figures kept from before).
import socket, sys, time
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    c, _ = s.accept()
    with c:
        word = c.recv(100)
        if word:
            time.sleep(0.9 if word == b"slow" else 0.2)
            c.sendall(b"report")
