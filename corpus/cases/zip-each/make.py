# Writes an archive of 120 chunks of measurements.
import zipfile
x = 1
with zipfile.ZipFile("days.zip", "w", zipfile.ZIP_DEFLATED) as z:
    for day in range(120):
        lines = []
        for _ in range(3000):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
            lines.append("%d,station-%d,%.1f" % (day, x % 40, (x >> 9) % 400 / 10))
        z.writestr("day/%03d.csv" % day, "\n".join(lines))
