package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

func main() {
	file, err := os.Open("numbers.txt")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	var from io.Reader = file
	if os.Args[1] == "buffer" {
		from = bufio.NewReader(file)
	}
	sum, number := 0, 0
	for {
		if _, err := fmt.Fscan(from, &number); err != nil {
			break
		}
		sum += number
	}
	fmt.Println(sum)
}
