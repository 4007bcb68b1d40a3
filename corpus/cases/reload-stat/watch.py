# A development server with a reloader; "rest" turns the reloader off, "stat" on.
import os, socket, sys, threading, time
files = [f"src/m{i}.py" for i in range(1500)]
seen = {}
on = True

def changed():
    for f in files:
        t = os.stat(f).st_mtime
        if seen.setdefault(f, t) != t:
            return True
    return False

def reloader():
    while True:
        if on:
            changed()
        time.sleep(0.1)

threading.Thread(target=reloader, daemon=True).start()
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    c, _ = s.accept()
    with c:
        word = c.recv(10)
        if word:
            on = word == b"stat"
            c.sendall(b"page")
