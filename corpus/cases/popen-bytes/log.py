import subprocess
import sys

TEXT = "commit %08d by somebody on a day in spring\n"


def commits(bufsize):
    command = [sys.executable, "-S", "-E", "-c", "print(%r * 7000)" % TEXT.replace("%08d", "00001234")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=bufsize) as process:
        return sum(1 for line in iter(process.stdout.readline, b"") if line.startswith(b"commit"))


print(commits(int(sys.argv[1])))
