"""Prints what the interpreter itself says of the lines of a module's code: per code object its line table, its first
line, and the line of each instruction."""
import dis
import sys
import types


def lines(code):
    size = len(code.co_code)
    table = [None] * (size // 2)
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            for at in range(start, end, 2):
                table[at // 2] = line
    else:
        # What dis leaves out has the line before it; before the first, that of the code object.
        starts = dict(dis.findlinestarts(code))
        line = code.co_firstlineno
        for at in range(0, size, 2):
            line = starts.get(at, line)
            table[at // 2] = line
    return table


def show(code):
    table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    numbers = " ".join("-" if line is None else str(line) for line in lines(code))
    print(table.hex() or "-", code.co_firstlineno, numbers)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            show(constant)


print(sys.version_info[1])
for name in sys.argv[1:]:
    source = __import__(name).__file__
    with open(source, encoding="utf-8") as file:
        show(compile(file.read(), source, "exec"))
