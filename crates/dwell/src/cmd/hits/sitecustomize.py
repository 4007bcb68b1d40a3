# How `dwell run --hits` gets into each Python process: a directory with this file stands first in PYTHONPATH, and
# Python's own start-up (the module `site`) imports it before the program. It takes itself out of the way, starts the
# counting (monitor.py beside it), and hands on to the sitecustomize that would have been imported without it.
# It must be understood by every Python, old ones too.
import sys


def _enter():
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)
    sys.modules.pop("sitecustomize", None)
    if sys.version_info < (3, 12):
        version = ".".join(str(part) for part in sys.version_info[:3])
        _say(os.path.join(here, "%d.old" % os.getpid()), version)
        # The program itself, not one of its children: nothing is to be counted, so nothing is run.
        with open(os.path.join(here, "root")) as root:
            if root.read().strip() == str(os.getpid()):
                os._exit(125)
        return
    try:
        monitor = os.path.join(here, "monitor.py")
        with open(monitor) as source:
            code = compile(source.read(), monitor, "exec")
        names = {"__name__": "dwell_hits"}
        exec(code, names)
        names["start"](here)
    except Exception as error:
        version = "%d.%d.%d" % sys.version_info[:3]
        _say(os.path.join(here, "%d.failed" % os.getpid()), "%s\t%s: %s" % (version, type(error).__name__, error))


def _say(path, text):
    with open(path, "w") as file:
        file.write("%s\t%s\n" % (text.replace("\n", " "), sys.executable))


try:
    _enter()
except Exception:
    # Without a place to say so (another root directory, another user) the program still runs as it would alone.
    pass
# Where there is none, this error is the one that `site` expects then.
import sitecustomize
