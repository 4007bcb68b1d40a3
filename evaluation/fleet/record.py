"""Records results of this machine, the templates of a made fleet. ARGS: DWELL STORE; root.

Windows of a web server that answers four clients, of one that mostly waits and of a busy script;
runs that write, sort and wait; wake-ups twice for 12 s; a ladder; comparisons. A minute and a half.
"""
import http.client
import subprocess
import sys
import threading
import time

from common import run

SERVER = """
import http.server, socketserver, sys, threading, time
lock = threading.Lock()
class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm = "HTTP/1.1", True
    def do_GET(self):
        with lock:
            time.sleep(float(sys.argv[2]))
            sum(range(20000))
        open("/dev/null").close()
        body = b"x" * 2000
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Pages).serve_forever()
"""
BUSY = """
import json, time
table = {str(i): i for i in range(2000)}
while True:
    json.loads(json.dumps(table))
    time.sleep(0.002)
"""
RUNS = [
    ["python3", "-c", "import os\nf = open('/var/tmp/dwell-fleet-file', 'wb')\n"
     "for i in range(60): f.write(b'x' * 5000); f.flush(); os.fsync(f.fileno())\n"
     "os.unlink('/var/tmp/dwell-fleet-file')"],
    ["sh", "-c", "seq 300000 | sort -R | md5sum; sleep 0.05"],
    ["python3", "-c", "import re\nfor i in range(40000): re.sub('a+', 'b', 'aab' * 20)"],
]


def ask(port, stop, pause):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while not stop.is_set():
        connection.request("GET", "/")
        connection.getresponse().read()
        time.sleep(pause)


def window(dwell, store, port, wait, clients, pause):
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(port), str(wait)])
    stop = threading.Event()
    try:
        time.sleep(1)
        for _ in range(clients):
            threading.Thread(target=ask, args=(port, stop, pause), daemon=True).start()
        time.sleep(0.5)
        done(run([dwell, "attach", f":{port}", "--for", "5s", "-q"], store))
    finally:
        stop.set()
        time.sleep(0.3)
        server.kill()
        server.wait()


def done(process):
    if process.returncode != 0:
        sys.exit(f"{process.args}: {process.stderr[-400:]}")


def record(dwell, store):
    window(dwell, store, 18931, 0.0002, 4, 0)
    window(dwell, store, 18932, 0.01, 2, 0.05)
    busy = subprocess.Popen([sys.executable, "-c", BUSY])
    try:
        time.sleep(0.5)
        done(run([dwell, "attach", str(busy.pid), "--for", "5s", "-q"], store))
    finally:
        busy.kill()
        busy.wait()
    for words in RUNS:
        done(run([dwell, "run", "-q", *words], store))
    for _ in range(2):
        done(run([dwell, "wake", "--for", "12s", "--spike", "100us", "-q"], store))
    done(run([dwell, "ladder", "--quick", "-q"], store))
    for other in ("sleep 0.010", "sleep 0.013"):
        done(run([dwell, "compare", "-q", "-r", "100", "--no-why", "sleep 0.010", other], store))


if __name__ == "__main__":
    record(sys.argv[1], sys.argv[2])
