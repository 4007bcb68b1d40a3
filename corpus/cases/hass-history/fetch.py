# Fetches 40 histories over one connection, or over eight.
import asyncio, sys
port, k = int(sys.argv[1]), int(sys.argv[2])

async def fetch(part):
    r, w = await asyncio.open_connection("127.0.0.1", port)
    total = 0.0
    for day, sensor in part:
        w.write(f"day {day} {sensor}\n".encode())
        total += float(await r.readline())
    w.close()
    return total

async def main():
    wanted = [(d, s) for d in range(20) for s in ("pv", "load")]
    print(sum(await asyncio.gather(*(fetch(wanted[i::k]) for i in range(k)))))

asyncio.run(main())
