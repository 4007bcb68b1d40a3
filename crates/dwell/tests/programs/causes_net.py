"""Clients with causes of the network, the same without them, and what they talk to: causes_net.py WHAT [NUMBER…]."""

import heapq, os, select, socket, struct, sys, threading, time

PORT = 5000
# Behind the relay; with it each packet takes its time.
FAR, NEAR = "10.9.0.2", "10.9.0.1"


def ready():
    open("ready", "w").close()


def exactly(sock, count):
    got = 0
    while got < count:
        some = sock.recv(min(65536, count - got))
        if not some:
            return got
        got += len(some)
    return got


def relay(delay_ms):
    """A link on which each packet takes so long. What is sent to FAR comes back from there to NEAR."""
    import fcntl

    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH", b"far", 0x1001))
    for command in [f"ip addr add {NEAR}/24 dev far", "ip link set far up"]:
        assert os.system(command) == 0
    due, packets, poll = [], 0, select.poll()
    poll.register(tun, select.POLLIN)
    open("linked", "w").close()
    while True:
        wait_ms = max(0, (due[0][0] - time.monotonic()) * 1000) if due else None
        if poll.poll(wait_ms):
            packet = os.read(tun, 65536)
            if packet[0] >> 4 == 4:
                packet = packet[:12] + packet[16:20] + packet[12:16] + packet[20:]
                packets += 1
                heapq.heappush(due, (time.monotonic() + delay_ms / 1000, packets, packet))
        while due and due[0][0] <= time.monotonic():
            os.write(tun, heapq.heappop(due)[2])


def serve(delay_ms, times=1):
    """Answers each request of 100 bytes with as many, `times` over, after so long; many connections at a time."""

    def one(peer):
        with peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while exactly(peer, 100) == 100:
                if delay_ms:
                    time.sleep(delay_ms / 1000)
                peer.sendall(b"a" * 100 * times)

    listening = socket.create_server(("0.0.0.0", PORT), backlog=512)
    ready()
    while True:
        peer, _ = listening.accept()
        threading.Thread(target=one, args=(peer,), daemon=True).start()


def connect(host):
    sock = socket.create_connection((host, PORT))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def ask(sock, times=1):
    sock.sendall(b"q" * 100)
    assert exactly(sock, 100 * times) == 100 * times


def turns(count, at_once):
    """Requests, so many at a time."""

    def some(share):
        with connect("127.0.0.1") as sock:
            for _ in range(share):
                ask(sock)

    if at_once == 1:
        return some(count)
    threads = [threading.Thread(target=some, args=(count // at_once,)) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def fresh(count):
    """A connection for each request."""
    for _ in range(count):
        with connect(FAR) as sock:
            ask(sock)


def kept(count):
    with connect(FAR) as sock:
        for _ in range(count):
            ask(sock)


def load(times):
    """One long answer."""
    with connect(FAR) as sock:
        ask(sock, times)


def names(count, asked):
    """Wants an address so many times, and asks for it so many times."""
    for number in range(count):
        if number < asked:
            socket.getaddrinfo("peer.test", PORT, socket.AF_INET)


def pairs(count, writes):
    """Each request by so many writes."""
    with socket.create_connection(("127.0.0.1", PORT)) as sock:
        for _ in range(count):
            for _ in range(writes):
                sock.sendall(b"q" * (100 // writes))
            exactly(sock, 100)


def work(rounds):
    total = 0
    for number in range(rounds):
        total += number * number
    return total


def threads(rounds, count):
    """Computes in threads."""
    all_of_them = [threading.Thread(target=work, args=(rounds,)) for _ in range(count)]
    for thread in all_of_them:
        thread.start()
    for thread in all_of_them:
        thread.join()


def processes(rounds, count):
    """The same in processes."""
    import multiprocessing

    with multiprocessing.Pool(count) as pool:
        pool.map(work, [rounds] * count)


if __name__ == "__main__":
    globals()[sys.argv[1]](*[int(word) for word in sys.argv[2:]])
