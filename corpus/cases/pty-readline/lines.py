# Reads the lines of a program's output; the argument is the size of the buffer.
import subprocess, sys
p = subprocess.Popen(["seq", "100000", "140000"], stdout=subprocess.PIPE, bufsize=int(sys.argv[1]))
n = total = 0
while True:
    line = p.stdout.readline()
    if not line:
        break
    n += 1
    total += int(line)
p.wait()
print(n, total)
