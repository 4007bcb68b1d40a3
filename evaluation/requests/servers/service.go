// net/http. Each answer takes BASE ms (a sleep; 0: none). Of PLANT requests one is planted:
// PLANTED=lock fills a table anew while it has the lock, PLANTED=slow takes 40 ms more.
// ARGS: PORT BASE
package main

import (
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

var every, _ = strconv.Atoi(os.Getenv("PLANT"))
var planted = os.Getenv("PLANTED")
var count atomic.Int64

type table struct {
	lock sync.Mutex
	rows map[int]int
}

func (t *table) get(key int) int {
	t.lock.Lock()
	defer t.lock.Unlock()
	if isPlanted("lock") {
		time.Sleep(40 * time.Millisecond)
	}
	t.rows[key%100]++
	return t.rows[key%100]
}

func isPlanted(what string) bool {
	return planted == what && every > 0 && count.Add(1)%int64(every) == 0
}

func main() {
	base, _ := strconv.Atoi(os.Args[2])
	rows := &table{rows: map[int]int{}}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if base > 0 {
			time.Sleep(time.Duration(base) * time.Millisecond)
		}
		if isPlanted("slow") {
			time.Sleep(40 * time.Millisecond)
		}
		w.Write([]byte(strconv.Itoa(rows.get(len(r.URL.Path))) + " times\n"))
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
