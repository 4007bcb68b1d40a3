# Logs 40,000 steps.
import logging, logging.handlers, sys
out = logging.FileHandler("steps.log", mode="w")
out.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
log = logging.getLogger("sim")
log.setLevel(logging.INFO)
log.propagate = False

class Block(logging.handlers.MemoryHandler):
    def flush(self):
        if self.buffer:
            out.stream.write("\n".join(map(out.format, self.buffer)) + "\n")
            self.buffer.clear()

log.addHandler(out if sys.argv[1] == "each" else Block(1000))
x = 1
for i in range(40000):
    x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    log.info("step %d gave %d", i, x)
logging.shutdown()
print(x)
