# Answers a request for the history of a sensor after 15 ms.
import asyncio, sys

async def handle(r, w):
    while await r.readline():
        await asyncio.sleep(0.015)
        w.write(b"21.5\n")
        await w.drain()

async def main():
    s = await asyncio.start_server(handle, "127.0.0.1", int(sys.argv[1]))
    await s.serve_forever()

asyncio.run(main())
