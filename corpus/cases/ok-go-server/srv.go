// Answers with a checksum of some work.
package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256(make([]byte, 2000000))
		fmt.Fprintf(w, "%x", sum[:8])
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
