# Five workers read the configuration; a remote part of it takes 10 ms.
import fcntl, multiprocessing, sys, time
how = fcntl.LOCK_EX if sys.argv[1] == "exclusive" else fcntl.LOCK_SH

def read_config():
    with open("cfg") as f:
        fcntl.flock(f, how)
        f.read()
        time.sleep(0.01)
        fcntl.flock(f, fcntl.LOCK_UN)

def worker():
    for _ in range(20):
        read_config()

if __name__ == "__main__":
    with open("cfg", "w") as f:
        f.write("a=1\n" * 100)
    ps = [multiprocessing.Process(target=worker) for _ in range(5)]
    [p.start() for p in ps]
    [p.join() for p in ps]
    print("done")
