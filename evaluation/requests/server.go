// Go's net/http. Plans: lock (a sync.Mutex), sleep, peer, cpu, pool (a channel with two members).
// ARGS: PORT PEER-PORT TRUTH
package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

var lock sync.Mutex
var members = make(chan net.Conn, 2)

func serve(file *os.File, w http.ResponseWriter, r *http.Request) {
	from := time.Now()
	var lockNs, slept, peerNs, queued, cpu time.Duration
	path := strings.Split(r.URL.Path, "/")
	n, _ := strconv.Atoi(path[2])
	ms := time.Duration(n) * time.Millisecond
	timed := func(sum *time.Duration, do func()) { t := time.Now(); do(); *sum += time.Since(t) }
	timed(&lockNs, lock.Lock)
	if path[1] == "lock" {
		timed(&slept, func() { time.Sleep(ms) })
	}
	lock.Unlock()
	if path[1] == "sleep" {
		timed(&slept, func() { time.Sleep(ms) })
	}
	if path[1] == "peer" || path[1] == "pool" {
		var member net.Conn
		timed(&queued, func() { member = <-members })
		timed(&peerNs, func() { fmt.Fprintf(member, "%d\n", n); bufio.NewReader(member).ReadString('\n') })
		members <- member
	}
	if path[1] != "cpu" {
		ms = 100 * time.Microsecond
	}
	timed(&cpu, func() {
		for t := time.Now(); time.Since(t) < ms; {
		}
	})
	w.Header().Set("Content-Length", "3")
	w.Write([]byte("ok\n"))
	w.(http.Flusher).Flush()
	_, port, _ := net.SplitHostPort(r.RemoteAddr)
	fmt.Fprintf(file, `{"port":%s,"n":-1,"plan":"%s","recv":%d,"sent":%d,"queued":%d,"cpu":%d,`+
		`"lock":%d,"sleep":%d,"peer":%d,"loop":0,"real":1}`+"\n", port, path[1], from.UnixNano(),
		time.Now().UnixNano(), queued, cpu, lockNs, slept, peerNs)
}

func main() {
	file, _ := os.OpenFile(os.Args[3], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0644)
	for i := 0; i < 2; i++ {
		member, _ := net.Dial("tcp", "127.0.0.1:"+os.Args[2])
		members <- member
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { serve(file, w, r) })
	http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)
}
