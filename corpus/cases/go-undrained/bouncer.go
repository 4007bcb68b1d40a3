// Asks 150 times whether a request may pass.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func allowed(url string, drain bool) bool {
	r, err := http.Get(url)
	if err != nil {
		panic(err)
	}
	defer r.Body.Close()
	if drain {
		io.Copy(io.Discard, r.Body)
	}
	return r.StatusCode == 200
}

func main() {
	n := 0
	for i := 0; i < 150; i++ {
		if allowed("http://127.0.0.1:"+os.Args[1]+"/check", os.Args[2] == "drain") {
			n++
		}
	}
	fmt.Println(n)
}
