# A log daemon that takes 2 ms for each message, or no time after the message "quick".
import os, socket, sys, time
ready = socket.create_server(("127.0.0.1", int(sys.argv[1])))
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
if os.path.exists("log.sock"):
    os.unlink("log.sock")
s.bind("log.sock")
pause = 0.002
while True:
    m = s.recv(2000)
    if m in (b"slow", b"quick"):
        pause = 0.002 if m == b"slow" else 0
    elif pause:
        time.sleep(pause)
