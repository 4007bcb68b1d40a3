# Writes 60,000 shapes of 40 points, and an index of where each begins.
import struct
x = 1
with open("lakes.shp", "wb") as shapes, open("lakes.idx", "wb") as index:
    shapes.write(b"SHAPES01")
    for i in range(60000):
        index.write(struct.pack("<Q", shapes.tell()))
        points = []
        for _ in range(40):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
            points += [(x >> 8) % 2000 / 16, (x >> 4) % 3000 / 16]
        shapes.write(struct.pack("<II80f", i, 40, *points))
