// Sends 250,000 headers through three stages.
package main

import (
	"fmt"
	"os"
	"strconv"
)

func produce(n int, out chan<- uint64) {
	for i := 0; i < n; i++ {
		out <- uint64(i)
	}
	close(out)
}

func stage(in <-chan uint64, out chan<- uint64) {
	for h := range in {
		for k := 0; k < 500; k++ {
			h = h*31 + 7
		}
		out <- h
	}
	close(out)
}

func main() {
	room, _ := strconv.Atoi(os.Args[1])
	a := make(chan uint64, room)
	b := make(chan uint64, room)
	c := make(chan uint64, room)
	go produce(250000, a)
	go stage(a, b)
	go stage(b, c)
	var sum uint64
	for h := range c {
		sum += h
	}
	fmt.Println(sum)
}
