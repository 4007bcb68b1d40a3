"""Exact hits of each line by sys.monitoring (PEP 669), counted in a memory-mapped file.

A count is in the file at once and survives any end of the process: os._exit, exec, signals.

The file: 8-byte words in native byte order, then text.
  word 0  magic number            word 2  hits that did not fit
  word 1  bytes of text           word 3  1: handlers and finalizers cannot run inside the counting
  from word 8: hits, a word each
  text, from byte TEXT: first "version<tab>executable", then a line for each code object:
  "file<tab>function<tab>first line<tab>word of its first line<tab>lines, separated by commas"
  with unicode_escape, so that no name contains a tab or a newline.
"""

MAGIC = 0x6477656C6C683031
FIRST_WORD = 8
LOST = 2
TEXT = 32 << 20
SIZE = TEXT + (64 << 20)
# The file is allocated in steps, so that a full disk is an error and not a SIGBUS.
STEP = 256 << 10
# RESUME, the first instruction of a function, by version.
RESUME = {(3, 12): 151, (3, 13): 149, (3, 14): 128}


def start(here):
    import mmap
    import os
    import sys
    import time
    import _thread
    from _codecs import unicode_escape_encode
    from _functools import partial

    monitoring = sys.monitoring
    disable = monitoring.DISABLE
    own_files = start.__code__.co_filename, os.path.join(here, "sitecustomize.py")
    shared = getattr(sys, "_is_gil_enabled", lambda: True)()
    tables = []
    pending = []
    memory = text = path = lock = last = lines = None
    words = text_end = room_words = room_text = 0
    undisturbed = 0

    def new_table():
        table = {}
        tables.append(table)
        return table

    class Local(_thread._local):
        def __init__(self):
            self.known = new_table()

    local = Local()
    known = new_table()

    def attach():
        """Creates an empty file for this process."""
        nonlocal memory, text, path, lock, last, lines, words, text_end, room_words, room_text
        path = os.path.join(here, "%d-%d.hits" % (os.getpid(), time.time_ns()))
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(descriptor, SIZE)
            os.posix_fallocate(descriptor, 0, STEP)
            os.posix_fallocate(descriptor, TEXT, STEP)
            # Before 3.13 the mapping keeps a descriptor open.
            untracked = {"trackfd": False} if sys.version_info >= (3, 13) else {}
            mapped = memoryview(mmap.mmap(descriptor, SIZE, **untracked))
        finally:
            os.close(descriptor)
        memory, text = mapped[:TEXT].cast("Q"), mapped[TEXT:]
        words, text_end, room_words, room_text = FIRST_WORD, 0, STEP // 8, STEP
        lock, last, lines = _thread.RLock(), None, None
        pending.clear()
        for table in tables:
            table.clear()
        memory[3] = undisturbed
        version = "%d.%d.%d" % sys.version_info[:3]
        write(escaped(version) + b"\t" + escaped(sys.executable or "") + b"\n")
        memory[0] = MAGIC

    def escaped(name):
        return unicode_escape_encode(name)[0]

    def write(record):
        """Adds to the text; False if it does not fit."""
        nonlocal text_end, room_text
        end = text_end + len(record)
        if end > room_text:
            if not grow(TEXT + room_text, end - room_text + STEP, SIZE):
                return False
            room_text += end - room_text + STEP
        text[text_end:end] = record
        text_end = memory[1] = end
        return True

    def grow(offset, length, limit):
        if offset + length > limit:
            return False
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            os.posix_fallocate(descriptor, offset, length)
            return True
        except OSError:
            return False
        finally:
            os.close(descriptor)

    def learn(code, table):
        """Assigns a word to each line of a code object."""
        nonlocal words, room_words
        new = sorted({line for _, _, line in code.co_lines() if line} - table.keys())
        first = words
        end = first + len(new)
        fits = end <= room_words
        if not fits and grow(room_words * 8, (end - room_words) * 8 + STEP, TEXT):
            room_words += end - room_words + STEP // 8
            fits = True
        names = escaped(code.co_filename) + b"\t" + escaped(code.co_qualname)
        numbers = "\t%d\t%d\t%s\n" % (code.co_firstlineno, first, ",".join(map(str, new)))
        if new and fits:
            # Reserved first: an exception in a handler may end this function anywhere.
            words = end
            fits = write(names + numbers.encode())
        for number, line in enumerate(new):
            table[line] = first + number if fits else LOST

    def count(known, code, line, site):
        """Counts the first hit of a line, or of a jump at `site`, and assigns its word."""
        table = known.setdefault((code.co_filename, code.co_qualname, code.co_firstlineno), {})
        if line not in table:
            learn(code, table)
        word = table.get(line, LOST)
        if site is not None:
            known[code.co_filename, code.co_qualname, code.co_firstlineno, code.co_linetable, site] = word
        memory[word] += 1

    def count_first(code, line, site):
        own = known if shared else local.known
        if lock._is_owned():
            # A handler interrupted this thread while it held the lock.
            pending.append((own, code, line, site))
            return
        with lock:
            count(own, code, line, site)
            while pending:
                count(*pending.pop())

    def on_first_line(code, line):
        count_first(code, line, None)

    def on_first_jump(code, source, target):
        """As with sys.settrace, a jump back within a line hits the line again."""
        at = {}
        for begin, end, line in code.co_lines():
            for offset in (source, target):
                if begin <= offset < end:
                    at[offset] = line
        line = at.get(source)
        if line is None or at.get(target) != line:
            return disable
        count_first(code, line, source)

    # For Python, new lines are handled outside the callback (sys.call_tracing), so that the lines of handlers and
    # finalizers that run there have events. A failed look-up gets there without a call.
    class FirstLine(dict):
        __missing__ = staticmethod(partial(sys.call_tracing, on_first_line))

    class FirstJump(dict):
        __missing__ = staticmethod(partial(sys.call_tracing, on_first_jump))

    first_line, first_jump = FirstLine(), FirstJump()

    # The next four call nothing on their fast path: Python switches threads and runs signal handlers only at calls,
    # so that no hit is lost to another thread.
    def line_of_all(code, line):
        nonlocal last, lines
        try:
            if code is not last:
                lines = known[code.co_filename, code.co_qualname, code.co_firstlineno]
                last = code
            memory[lines[line]] += 1
        except KeyError:
            return disable if code.co_filename in own_files else first_line[code, line]

    def jump_of_all(code, source, target):
        if target > source:
            return disable
        try:
            memory[
                known[code.co_filename, code.co_qualname, code.co_firstlineno, code.co_linetable, source]
            ] += 1
        except KeyError:
            return disable if code.co_filename in own_files else first_jump[code, source, target]

    # Without the GIL each thread has words of its own.
    def line_of_thread(code, line):
        known = local.known
        try:
            memory[known[code.co_filename, code.co_qualname, code.co_firstlineno][line]] += 1
        except KeyError:
            return disable if code.co_filename in own_files else first_line[code, line]

    def jump_of_thread(code, source, target):
        known = local.known
        if target > source:
            return disable
        try:
            memory[
                known[code.co_filename, code.co_qualname, code.co_firstlineno, code.co_linetable, source]
            ] += 1
        except KeyError:
            return disable if code.co_filename in own_files else first_jump[code, source, target]

    def closed(function):
        """Keeps signal handlers and finalizers out of the callback, where their lines would not be counted. They run
        where a function starts, but not where one resumes after `yield from`, so the code is marked as such."""
        code = bytearray(function.__code__.co_code)
        resume = RESUME.get(sys.version_info[:2])
        for at in (0, 2):
            if code[at] == resume and code[at + 1] == 0:
                code[at + 1] = 2
                function.__code__ = function.__code__.replace(co_code=bytes(code))
                return 1
        return 0

    def in_child():
        try:
            attach()
        except Exception:
            monitoring.set_events(tool, 0)

    on_line, on_jump = (line_of_all, jump_of_all) if shared else (line_of_thread, jump_of_thread)
    undisturbed = closed(on_line) & closed(on_jump)
    attach()
    # The tool IDs that PEP 669 does not reserve for a purpose.
    tool = next(tool for tool in (4, 3) if monitoring.get_tool(tool) is None)
    monitoring.use_tool_id(tool, "dwell --hits")
    os.register_at_fork(after_in_child=in_child)
    monitoring.register_callback(tool, monitoring.events.LINE, on_line)
    monitoring.register_callback(tool, monitoring.events.JUMP, on_jump)
    # From 3.13 on, the line of the `def` has an event only if PY_START is enabled too.
    monitoring.set_events(tool, monitoring.events.LINE | monitoring.events.JUMP | monitoring.events.PY_START)
