// Prints one line for each query that was seen.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

func emit(w io.Writer, i int) {
	fmt.Fprintf(w, "query %d host%d.example.org A NOERROR\n", i, i%977)
}

func main() {
	var w io.Writer = os.Stdout
	if os.Args[1] == "buffer" {
		b := bufio.NewWriterSize(os.Stdout, 65536)
		defer b.Flush()
		w = b
	}
	for i := 0; i < 400000; i++ {
		emit(w, i)
	}
}
