"""asyncio: one event loop, and two connections to a peer. Plans: sleep (a timer), peer, pool (a
member of the two that is slow), cpu (blocks the loop). ARGS: PORT PEER-PORT TRUTH"""
import asyncio
import sys

import plant

truths = plant.Truth(sys.argv[3])
members = asyncio.LifoQueue()


async def ask(ms, truth):
    from_ = plant.now()
    reader, writer = await members.get()
    asked = plant.now()
    truth["queued"] += asked - from_
    writer.write(b"%d\n" % ms)
    own = int(await reader.readline())
    members.put_nowait((reader, writer))
    truth["peer"] += own
    truth["loop"] += plant.now() - asked - own


async def serve(reader, writer):
    n, port = 0, writer.get_extra_info("peername")[1]
    while line := await reader.readline():
        plan, ms = line.decode().split()
        truth = truths.begin(port, n, plan)
        if plan in ("peer", "pool"):
            await ask(int(ms), truth)
        if plan == "sleep":
            from_ = plant.now()
            await asyncio.sleep(int(ms) / 1e3)
            truth["sleep"] = int(ms) * 1_000_000
            truth["loop"] += plant.now() - from_ - truth["sleep"]
        plant.burn(int(ms) if plan == "cpu" else 0.1, truth)
        writer.write(b"ok\n")
        truths.end(truth)
        n += 1


async def main():
    for _ in range(2):
        members.put_nowait(await asyncio.open_connection("127.0.0.1", int(sys.argv[2])))
    await (await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))).serve_forever()


asyncio.run(main())
