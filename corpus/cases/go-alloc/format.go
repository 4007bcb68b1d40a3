// Formats 600,000 messages and sums their bytes.
package main

import (
	"fmt"
	"os"
	"strconv"
)

func message(i int) []byte {
	b := make([]byte, 0, 16)
	for f := 0; f < 6; f++ {
		b = append(b, []byte("field"+strconv.Itoa(f)+"="+strconv.Itoa(i*f)+";")...)
	}
	return b
}

func messageInto(b []byte, i int) []byte {
	b = b[:0]
	for f := 0; f < 6; f++ {
		b = append(b, "field"...)
		b = strconv.AppendInt(b, int64(f), 10)
		b = append(b, '=')
		b = strconv.AppendInt(b, int64(i*f), 10)
		b = append(b, ';')
	}
	return b
}

func main() {
	var kept []byte
	sum := 0
	for i := 0; i < 600000; i++ {
		if os.Args[1] == "new" {
			kept = message(i)
		} else {
			kept = messageInto(kept, i)
		}
		for _, c := range kept {
			sum = sum*31 + int(c)
		}
	}
	fmt.Println(sum)
}
