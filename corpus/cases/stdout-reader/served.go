// "serve" logs a line for each of 12,000 requests; "collect N" reads them, with N us for each KiB.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func logLine(i int, x uint64) {
	fmt.Fprintf(os.Stdout, "request %6d served with all its fields and a checksum %020d\n", i, x)
}

func serve() {
	x := uint64(1)
	for i := 0; i < 12000; i++ {
		for k := 0; k < 4000; k++ {
			x = x*6364136223846793005 + 1
		}
		logLine(i, x)
	}
}

func collect(pause time.Duration) {
	b := make([]byte, 1024)
	total := 0
	for {
		n, err := os.Stdin.Read(b)
		if err != nil {
			break
		}
		total += n
		time.Sleep(pause)
	}
	fmt.Println(total)
}

func main() {
	if os.Args[1] == "serve" {
		serve()
		return
	}
	us, _ := strconv.Atoi(os.Args[2])
	collect(time.Duration(us) * time.Microsecond)
}
