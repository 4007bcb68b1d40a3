# Reads 22 user agents; the second pattern has bounds for its numbers.
import re, sys
wide = re.compile(r"^(.*)/(\d+)\.?(\d+)?.?(\d+)?.?(\d+)? CFNetwork")
bound = re.compile(r"^([^/]*)/(\d{1,9})\.?(\d{1,9})?\.?(\d{1,9})?\.?(\d{1,9})? CFNetwork")
pattern = wide if sys.argv[1] == "open" else bound

def family(agent):
    m = pattern.search(agent)
    return m.group(1) if m else "other"

agents = [f"Reader/{i}.{i}.1 CFNetwork/1" if i % 2 else "Mozilla/" + "1" * (30 + i) + " (KHTML)"
          for i in range(22)]
print(sorted(set(map(family, agents))))
