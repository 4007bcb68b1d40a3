# Answers each request after 30 ms.
import asyncio, sys

async def handle(r, w):
    while await r.readline():
        await asyncio.sleep(0.03)
        w.write(b"page\n")
        await w.drain()

async def main():
    s = await asyncio.start_server(handle, "127.0.0.1", int(sys.argv[1]))
    await s.serve_forever()

asyncio.run(main())
