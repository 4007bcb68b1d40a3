// Changes the index ten times under its lock, with some work before each.
package main

import (
	"os"
	"syscall"
	"time"
)

func lock(fd int, try bool) {
	for try {
		if syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	for syscall.Flock(fd, syscall.LOCK_EX) == syscall.EINTR {
	}
}

func work(n int) uint64 {
	x := uint64(n)
	for i := 0; i < n; i++ {
		x = x*6364136223846793005 + 1
	}
	return x
}

func main() {
	f, err := os.OpenFile("index", os.O_CREATE|os.O_RDWR, 0644)
	if err != nil {
		panic(err)
	}
	fd := int(f.Fd())
	for i := 0; i < 10; i++ {
		work(2000000)
		lock(fd, os.Args[1] == "try")
		work(4000000)
		syscall.Flock(fd, syscall.LOCK_UN)
	}
}
