# Runs 25 short tools, one after another.
import subprocess, sys
for i in range(25):
    p = subprocess.Popen(["sh", "-c", "i=0; while [ $i -lt 9000 ]; do i=$((i+1)); done"])
    p.wait(timeout=30 if sys.argv[1] == "limit" else None)
print("ran")
