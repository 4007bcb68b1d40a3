// Fetches 40 pages; a semaphore limits how many are under way.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
)

func fetch(i int) int {
	c, err := net.Dial("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		panic(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "page %d\n", i)
	s, _ := bufio.NewReader(c).ReadString('\n')
	return len(s)
}

func main() {
	k, _ := strconv.Atoi(os.Args[2])
	room := make(chan bool, k)
	var wg sync.WaitGroup
	sizes := make([]int, 40)
	for i := range sizes {
		wg.Add(1)
		go func() {
			defer wg.Done()
			room <- true
			sizes[i] = fetch(i)
			<-room
		}()
	}
	wg.Wait()
	sum := 0
	for _, n := range sizes {
		sum += n
	}
	fmt.Println(sum)
}
