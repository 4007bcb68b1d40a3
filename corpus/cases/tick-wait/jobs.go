package main

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// work computes for about 20 ms.
func work(seed uint64) uint64 {
	for i := 0; i < 14000000; i++ {
		seed = seed*6364136223846793005 + 1442695040888963407
	}
	return seed
}

func run(tick bool, seed uint64) uint64 {
	var done atomic.Bool
	result := make(chan uint64, 1)
	go func() {
		result <- work(seed)
		done.Store(true)
	}()
	if tick {
		ticker := time.NewTicker(40 * time.Millisecond)
		defer ticker.Stop()
		for !done.Load() {
			<-ticker.C
		}
	}
	return <-result
}

func main() {
	sum := uint64(0)
	for job := uint64(0); job < 12; job++ {
		sum ^= run(os.Args[1] == "tick", job)
	}
	fmt.Println(sum)
}
