# Greets after 3 ms, and answers each line after 8 ms.
import socketserver, sys, time

class H(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        time.sleep(0.003)
        self.wfile.write(b"hello\n")
        for line in self.rfile:
            time.sleep(0.008)
            self.wfile.write(b"%d\n" % (int(line) * 3))

class S(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 64

S(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
