// Makes 30 pages, each of eight parts that it asks one service for at the same time, over TLS.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

func fetch(client *http.Client, address string) int64 {
	answer, err := client.Get(address)
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		panic(err)
	}
	return int64(len(body))
}

func main() {
	idle, _ := strconv.Atoi(os.Args[2]) // 0: what the library takes by itself, which is two
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
		MaxIdleConns:        100,
		MaxIdleConnsPerHost: idle,
	}}
	var total atomic.Int64
	for page := 0; page < 30; page++ {
		var parts sync.WaitGroup
		for part := 0; part < 8; part++ {
			parts.Add(1)
			go func() {
				defer parts.Done()
				address := fmt.Sprintf("https://127.0.0.1:%s/page/%d/%d", os.Args[1], page, part)
				total.Add(fetch(client, address))
			}()
		}
		parts.Wait()
	}
	fmt.Println(total.Load())
}
