# Reads the answers of a torrent service and sums up what they say; the log is set to INFO.
import hashlib
import json
import logging
import sys

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("client")
guarded = sys.argv[1:] == ["guarded"]


def answer(number):
    torrents = [
        {
            "id": number * 40 + i,
            "name": "archive-%d-%d" % (number, i),
            "files": [{"length": i * 1000 + k, "done": k * 7} for k in range(6)],
            "rate": [i, i + 1, i + 2],
            "error": None,
        }
        for i in range(40)
    ]
    return json.dumps({"result": "success", "arguments": {"torrents": torrents}})


def request(text):
    data = json.loads(text)
    if guarded:
        if log.isEnabledFor(logging.DEBUG):
            log.debug("answer: %s", json.dumps(data, indent=2))
    else:
        log.debug("answer: %s", json.dumps(data, indent=2))
    return data["arguments"]["torrents"]


def sizes(torrents):
    return sorted(sum(f["length"] for f in t["files"]) for t in torrents)


def names(torrents, longest):
    words = {}
    for t in torrents:
        for part in t["name"].split("-"):
            for end in range(1, min(len(part), longest) + 1):
                words[part[:end]] = words.get(part[:end], 0) + 1
    return words


def rates(torrents, window):
    means = []
    for t in torrents:
        rate = t["rate"] * window
        means.append(sum(rate[-window:]) / window)
    return means


def digest(torrents, salt):
    state = hashlib.sha256(b"%d" % salt)
    for t in torrents:
        for f in t["files"]:
            state.update(b"%d/%d/%d" % (t["id"], f["length"], f["done"]))
    return state.hexdigest()


total = 0
last = ""
for number in range(95):
    torrents = request(answer(number))
    total += sum(sizes(torrents))
    for step in range(1, 18):
        total += len(names(torrents, step)) + sum(rates(torrents, step))
        last = digest(torrents, step)
print(total, last)
