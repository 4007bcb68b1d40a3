// Asks an API for 30 secrets. The client limits itself to so many requests a second, after a
// burst of ten.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

type limiter struct {
	tokens, burst, perSecond float64
	last                     time.Time
}

// accept returns when the next request may be sent.
func (l *limiter) accept() {
	now := time.Now()
	l.tokens = min(l.burst, l.tokens+now.Sub(l.last).Seconds()*l.perSecond)
	l.last = now
	l.tokens--
	if l.tokens < 0 {
		time.Sleep(time.Duration(-l.tokens / l.perSecond * float64(time.Second)))
	}
}

func main() {
	perSecond, _ := strconv.ParseFloat(os.Args[2], 64)
	link, err := net.Dial("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		panic(err)
	}
	defer link.Close()
	answers := bufio.NewReader(link)
	limit := limiter{tokens: 10, burst: 10, perSecond: perSecond, last: time.Now()}
	sum := 0
	for i := 0; i < 30; i++ {
		limit.accept()
		fmt.Fprintf(link, "GET /namespaces/team-%d/secrets\n", i)
		line, err := answers.ReadString('\n')
		if err != nil {
			panic(err)
		}
		n, _ := strconv.Atoi(strings.TrimSpace(line))
		sum += n
	}
	fmt.Println(sum)
}
