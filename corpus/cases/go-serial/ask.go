// Asks a service sixty things over some connections.
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
)

func ask(c net.Conn) {
	c.Write([]byte("select 1"))
	c.Read(make([]byte, 100))
}

func main() {
	k, _ := strconv.Atoi(os.Args[2])
	var wg sync.WaitGroup
	for t := 0; t < k; t++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c, err := net.Dial("tcp", "127.0.0.1:"+os.Args[1])
			if err != nil {
				panic(err)
			}
			for i := 0; i < 60/k; i++ {
				ask(c)
			}
		}()
	}
	wg.Wait()
	fmt.Println("asked")
}
