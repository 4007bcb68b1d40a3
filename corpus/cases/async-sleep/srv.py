# Serves with asyncio; each request takes 20 ms, as a call that blocks or as one that does not.
import asyncio, sys, time

async def handle(r, w):
    word = await r.readline()
    if word == b"block\n":
        time.sleep(0.02)
    else:
        await asyncio.sleep(0.02)
    w.write(b"page\n")
    await w.drain()
    w.close()

async def main():
    s = await asyncio.start_server(handle, "127.0.0.1", int(sys.argv[1]))
    await s.serve_forever()

asyncio.run(main())
