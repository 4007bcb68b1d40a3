import threading


def loop(n):
    odd = 0
    for i in range(n):
        if i % 3 == 0:
            odd += 1
        else:
            odd += 2
    return odd


def seven(): return 1


def generator(n):
    for i in range(n):
        yield i


def within_a_line(n):
    for i in range(n): n += 1
    squares = [i * i for i in range(10)]
    while n > 5: n -= 100
    odd = [
        i
        for i in range(12)
        if i % 2
    ]
    return squares, sum(i for i in range(20)), odd


def recursive(n):
    return 1 if n == 0 else recursive(n - 1)


def throws(n):
    try:
        if n % 2:
            raise ValueError(n)
    except ValueError:
        return 1
    finally:
        n = 0
    return 0


def quarter():
    total = 0
    for i in range(250):
        total += i


def never(n):
    if n:
        return 1
    return 2


class Context:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


def closes(n):
    add = lambda x: x + n
    for i in range(5):
        with Context():
            add(i)
            if i == 3:
                raise KeyError
    else:
        n = 0
    match n:
        case 1:
            return 1
        case _:
            return backwards([3, 1, 2])


def backwards(numbers):
    return sorted(numbers, key=lambda x: -x)


if __name__ == "__main__":
    loop(1000)
    for _ in range(7):
        seven()
    list(generator(50))
    within_a_line(100)
    recursive(30)
    for i in range(10): throws(i)
    threads = [threading.Thread(target=quarter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    never(1)
    closes(2)
