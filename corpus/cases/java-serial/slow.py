# A service that answers each question after 15 ms.
import socketserver, sys, time

class H(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(200):
            time.sleep(0.015)
            self.request.sendall(b"row")

class S(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 64

S(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
