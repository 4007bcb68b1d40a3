// Prints one line for each query that was seen, with a keyed sum of it.
package main

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
)

func emit(w io.Writer, i int) {
	sum := sha256.Sum256([]byte{byte(i), byte(i >> 8), byte(i >> 16)})
	for k := 0; k < 25; k++ {
		sum = sha256.Sum256(sum[:])
	}
	fmt.Fprintf(w, "query %d host%d.example.org A %x\n", i, i%977, sum[:4])
}

func main() {
	var w io.Writer = os.Stdout
	if os.Args[1] == "buffer" {
		b := bufio.NewWriterSize(os.Stdout, 65536)
		defer b.Flush()
		w = b
	}
	for i := 0; i < 150000; i++ {
		emit(w, i)
	}
}
