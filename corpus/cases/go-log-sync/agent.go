// Checks packets; every now and then a record goes into the log.
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
)

func record(f *os.File, i int, sum [32]byte, sync bool) {
	fmt.Fprintf(f, "packet %d %x\n", i, sum[:4])
	if sync {
		f.Sync()
	}
}

func main() {
	f, err := os.Create("agent.log")
	if err != nil {
		panic(err)
	}
	sync := os.Args[1] == "record"
	packet := make([]byte, 60000)
	sum := sha256.Sum256(packet)
	for i := 0; i < 8000; i++ {
		packet[0] = sum[0]
		sum = sha256.Sum256(packet)
		if i%100 == 0 {
			record(f, i, sum, sync)
		}
	}
	f.Sync()
	fmt.Printf("%x\n", sum[:4])
}
