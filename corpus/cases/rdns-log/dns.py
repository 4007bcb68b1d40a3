# Brings the loopback device up, and answers each question for a name after 10 ms.
import fcntl, socket, struct, threading, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))
s.bind(("127.0.0.1", 53))
open("up", "w").close()

def answer(q, peer):
    time.sleep(0.01)
    end = q.index(b"\0", 12) + 5
    name = b"\x06client\x03lan\0"
    record = b"\xc0\x0c\0\x0c\0\x01\0\0\0\x3c" + struct.pack("!H", len(name)) + name
    s.sendto(q[:2] + b"\x81\x80\0\x01\0\x01\0\0\0\0" + q[12:end] + record, peer)

while True:
    q, peer = s.recvfrom(1500)
    threading.Thread(target=answer, args=(q, peer), daemon=True).start()
