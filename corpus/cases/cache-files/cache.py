# Loads all entries, three times.
import json, os, sys
n = 2500

def make():
    os.makedirs("entries", exist_ok=True)
    every = {f"k{i}": f"value {i}" * 5 for i in range(n)}
    for k, v in every.items():
        with open(f"entries/{k}", "w") as f:
            f.write(v)
    with open("all.json", "w") as f:
        json.dump(every, f)

def load(k):
    with open(f"entries/{k}") as f:
        return f.read()

def load_all():
    if sys.argv[1] == "files":
        return {k: load(k) for k in os.listdir("entries")}
    with open("all.json") as f:
        return json.load(f)

if sys.argv[1] == "make":
    make()
else:
    print(sum(len(v) for _ in range(3) for v in load_all().values()))
