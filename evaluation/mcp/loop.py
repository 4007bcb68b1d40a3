"""Plays the loop of an agent through `dwell mcp`: diagnose, change, prove.
ARGS: DWELL [CASE…]; prints a table in markdown, and the transcript of the first case.

No model takes part. For each case of the corpus the slow command is run, its first finding is read,
and the command with the change (the case's own, in place of an agent's) is compared with it. A
finding about other programs on the host is passed over, since no change of this one mends it. What
is printed is the typed result: whether the cause is one that the case's report names, and whether
the saving that was predicted came true.
"""

import json
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib

from client import Client, Failed

CASES = pathlib.Path(__file__).parents[2] / "corpus/cases"
# Ten, chosen before any was run: other causes, other languages.
TEN = [
    "fsync-log", "endl-log", "pop-front", "nvm-subshells", "glob-stat",
    "perl-poll-job", "zip-each", "gil-crack", "token-alloc", "gzip-loop",
]
SECONDS = 20
OF_OTHERS = "cpu-contention"


def interval(found, of):
    between = " to " if found["lo"] < 0 else "–"
    return f"{100 * found['lo'] / of:.0f}{between}{100 * found['hi'] / of:.0f} %"


def play(dwell, name, place, transcript):
    """The row of a case: what was found, predicted and measured."""
    case = tomllib.loads((CASES / name / "case.toml").read_text())
    folder = pathlib.Path(place) / name
    shutil.copytree(CASES / name, folder)
    if "build" in case:
        subprocess.run(["sh", "-c", case["build"]], cwd=folder, check=True, capture_output=True)
    allowed = [word for way in ("slow", "fast") for word in ("--allow", shlex.join(case[way]))]
    store = ["--store", str(pathlib.Path(place) / "results.sqlite")]
    client = Client([dwell, "mcp", *allowed, *store], cwd=folder)
    try:
        page, run = client.call("run", command=case["slow"])
        transcript.append(("run", {"command": case["slow"]}, page))
        findings = [found for found in run["findings"] if found["cause"] != OF_OTHERS]
        if not findings:
            return [name, case["language"], "none", "", "", "", "", ""]
        first = findings[0]
        wall = run["wall_ns"]
        manual, _ = client.call("explain", cause=first["cause"])
        transcript.append(("explain", {"cause": first["cause"]}, manual))
        arguments = {"commands": [case["slow"], case["fast"]], "predicted": run["kept_as"], "for_s": SECONDS}
        page, compared = client.call("compare", **arguments)
        transcript.append(("compare", arguments, page))
    finally:
        client.close()
    change = compared["comparisons"][0]
    came = next(row["came"] for row in change["predicted"] if row["cause"] == first["cause"])
    ratio = change["ratio"]
    saved = {"lo": 1 - ratio["hi"], "hi": 1 - ratio["lo"]} if ratio else None
    return [
        name, case["language"], first["cause"], "yes" if first["cause"] in case["causes"] else "no",
        interval(first["saving_ns"], wall), interval(saved, 1) if saved else "", change["verdict"], came,
    ]


def main():
    dwell, *names = sys.argv[1:]
    rows, shown = [], []
    with tempfile.TemporaryDirectory(prefix="dwell-loop-") as place:
        for name in names or TEN:
            transcript = []
            try:
                rows.append(play(str(pathlib.Path(dwell).resolve()), name, place, transcript))
            except Failed as error:
                rows.append([name, "", f"failed: {error}".replace("\n", " "), "", "", "", "", ""])
            shown = shown or transcript
    head = ["case", "language", "first finding", "right", "predicted", "measured", "verdict", "the prediction"]
    for row in [head, ["---"] * len(head), *rows]:
        print("| " + " | ".join(row) + " |")
    for tool, arguments, text in shown:
        print(f"\n````\n{tool} {json.dumps(arguments)}\n\n{text}\n````")


main()
