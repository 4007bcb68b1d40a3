# Looks for thirty libraries of its own.
import ctypes.util, os, sys

def find(name):
    if sys.argv[1] == "find":
        return ctypes.util.find_library(name)
    path = f"lib/lib{name}.so"
    return path if os.path.exists(path) else None

print([find(f"shopcore{i}") for i in range(30)])
