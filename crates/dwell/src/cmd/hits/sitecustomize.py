# The entry of `dwell run --hits` into each Python process: a directory with this file is first in PYTHONPATH, and
# Python's start-up (the module `site`) imports it before the program. It removes itself from the path, starts the
# counting (monitor.py in the same directory), and imports the sitecustomize that it replaced.
# It must run on every version of Python, also on old ones.
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
        # The program itself cannot be counted, so it is not run.
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
    # If the note cannot be written (another root directory, another user), the program runs uncounted.
    pass
# If there is none, `site` expects this ImportError.
import sitecustomize
