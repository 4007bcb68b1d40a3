// Work in the main goroutine and in another, a wait on a channel, and a sleep.
package main

import (
	"fmt"
	"time"
)

var sink uint64

//go:noinline
func dig(rounds int) uint64 {
	value := uint64(1)
	for i := 0; i < rounds; i++ {
		value = value*6364136223846793005 + uint64(i)
	}
	return value
}

//go:noinline
func work(until time.Duration) {
	for begun := time.Now(); time.Since(begun) < until; {
		sink += dig(100000)
	}
}

type crew struct{ done chan bool }

func (crew crew) toil() {
	work(200 * time.Millisecond)
	crew.done <- true
}

func main() {
	work(200 * time.Millisecond)
	crew := crew{make(chan bool)}
	go crew.toil()
	<-crew.done
	fmt.Println(sink != 0)
}
