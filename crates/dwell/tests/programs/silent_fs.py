"""A FUSE file system with one file, `f`, that answers no read any more once FLAG exists.

silent_fs.py MOUNTPOINT CONTENT FLAG: prints a line when it is mounted. It speaks to /dev/fuse
itself, and stops answering for good: neither reads nor the close of a file that is open.
"""

import ctypes
import os
import struct
import sys

MOUNTPOINT, CONTENT, FLAG = sys.argv[1:4]
ROOT, FILE = 1, 2
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH = 1, 2, 3, 14, 15, 17, 18, 25
INIT, OPENDIR, INTERRUPT, BATCH_FORGET = 26, 27, 36, 42
UNANSWERED = (FORGET, INTERRUPT, BATCH_FORGET)
ENOENT, ENOSYS, ENODEV = 2, 38, 19

content = open(CONTENT, "rb").read()
device = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"silent", MOUNTPOINT.encode(), b"fuse.silent", 6, options.encode()) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
print("mounted", flush=True)


def attributes(node):
    size, mode = (0, 0o40755) if node == ROOT else (len(content), 0o100755)
    return struct.pack("<6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(unique, body=b"", error=0):
    os.write(device, struct.pack("<IiQ", 16 + len(body), -error, unique) + body)


while True:
    try:
        request = os.read(device, 1 << 20)
    except OSError as error:
        if error.errno == ENODEV:
            break
        continue
    _, call, unique, node = struct.unpack_from("<IIQQ", request)
    body = request[40:]
    silent = os.path.exists(FLAG)
    if call in UNANSWERED or silent and call in (READ, FLUSH):
        continue
    if call == INIT:
        answer(unique, struct.pack("<4I2H2I2H28x", 7, 31, 65536, 0, 12, 10, 65536, 1, 0, 0))
    elif call == LOOKUP and body.rstrip(b"\0") == b"f":
        answer(unique, struct.pack("<4Q2I", FILE, 0, 3600, 3600, 0, 0) + attributes(FILE))
    elif call == LOOKUP:
        answer(unique, error=ENOENT)
    elif call == GETATTR:
        answer(unique, struct.pack("<Q2I", 3600, 0, 0) + attributes(node))
    elif call in (OPEN, OPENDIR):
        answer(unique, struct.pack("<Q2I", 1, 2, 0))
    elif call == READ:
        _, offset, size = struct.unpack_from("<QQI", body)
        answer(unique, content[offset : offset + size])
    elif call in (RELEASE, FLUSH):
        answer(unique)
    elif call == STATFS:
        answer(unique, struct.pack("<5Q4I24x", 0, 0, 0, 0, 0, 4096, 255, 4096, 0))
    else:
        answer(unique, error=ENOSYS)
