// Work for goroutines: a server that computes an answer, workers on a channel, a contended mutex,
// and a program that looks every 20 ms whether there is something to do.
package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

func hash(rounds int) [32]byte {
	sum := sha256.Sum256([]byte("a request"))
	for i := 0; i < rounds; i++ {
		sum = sha256.Sum256(sum[:])
	}
	return sum
}

func server(port string) {
	http.HandleFunc("/", func(out http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(out, "%x\n", hash(3000))
	})
	fmt.Println(http.ListenAndServe("127.0.0.1:"+port, nil))
}

func workers(length time.Duration) {
	jobs, results := make(chan int), make(chan [32]byte, 16)
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for rounds := range jobs {
				results <- hash(rounds)
			}
		}()
	}
	go func() {
		for range results {
		}
	}()
	for end := time.Now().Add(length); time.Now().Before(end); {
		jobs <- 2000
	}
	close(jobs)
	all.Wait()
}

func mutex(length time.Duration) {
	var lock sync.Mutex
	var all sync.WaitGroup
	end := time.Now().Add(length)
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for time.Now().Before(end) {
				lock.Lock()
				hash(1000)
				lock.Unlock()
			}
		}()
	}
	all.Wait()
}

func ticks(length time.Duration) {
	for end := time.Now().Add(length); time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
}

func ownClock() {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		fmt.Println("own cpu_ns", usage.Utime.Nano()+usage.Stime.Nano())
	}
}

func main() {
	if len(os.Args) != 3 {
		os.Exit(2)
	}
	seconds, _ := strconv.ParseFloat(os.Args[2], 64)
	length := time.Duration(seconds * float64(time.Second))
	switch os.Args[1] {
	case "server":
		server(os.Args[2])
	case "workers":
		workers(length)
	case "mutex":
		mutex(length)
	case "ticks":
		ticks(length)
	default:
		os.Exit(2)
	}
	ownClock()
}
