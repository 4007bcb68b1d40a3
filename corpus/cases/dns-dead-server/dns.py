# Brings the loopback device up; answers on 127.0.0.1 at once, and never on 127.0.0.2.
import fcntl, socket, struct
dead = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(dead, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))
dead.bind(("127.0.0.2", 53))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 53))
open("up", "w").close()
while True:
    q, peer = s.recvfrom(1500)
    end = q.index(b"\0", 12) + 5
    a_record = q[end - 3] == 1
    record = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\x7f\0\0\x01" if a_record else b""
    s.sendto(q[:2] + b"\x81\x80\0\x01\0" + bytes([a_record]) + b"\0\0\0\0" + q[12:end] + record, peer)
