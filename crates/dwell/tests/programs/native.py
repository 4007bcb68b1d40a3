"""Python that is called from C that is called from Python: a key function in a sort."""
import time


def key(value):
    total = 0
    for i in range(30):
        total += i ^ value  # line of key
    return total


def ranks(values):
    return sorted(values, key=key)


def main():
    values = list(range(5000))
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        ranks(values)


main()
