# Answers "n n n ..." with a value for each, after 12 ms of set-up and 10 ms for the question.
import socketserver, sys, time

class H(socketserver.StreamRequestHandler):
    def handle(self):
        time.sleep(0.012)
        for line in self.rfile:
            time.sleep(0.01)
            self.wfile.write(b" ".join(b"%d" % (int(n) * 3) for n in line.split()) + b"\n")

class S(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

S(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
