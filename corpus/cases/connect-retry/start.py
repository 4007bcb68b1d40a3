# Starts a server that needs 120 ms to be ready, connects, and does so three times.
import os, socket, sys, time
pause = float(sys.argv[1])

def serve(at):
    x = 0
    end = time.monotonic() + 0.12
    while time.monotonic() < end:
        x += 1
    s = socket.socket(socket.AF_UNIX)
    s.bind(at)
    s.listen()
    c, _ = s.accept()
    c.sendall(b"ready")
    os._exit(0)

def connect(at):
    while True:
        c = socket.socket(socket.AF_UNIX)
        try:
            c.connect(at)
            return c
        except OSError:
            time.sleep(pause)

for i in range(3):
    at = f"server{i}.sock"
    if os.path.exists(at):
        os.unlink(at)
    if not os.fork():
        serve(at)
    c = connect(at)
    while c.recv(100):
        pass
    os.wait()
print("ready")
