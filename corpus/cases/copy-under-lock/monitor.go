// Four readers look at a table of 3,000 caches that is never changed in place.
package main

import (
	"fmt"
	"os"
	"sync"
)

type table map[int]int

type monitor struct {
	sync.Mutex
	states table
}

func (m *monitor) get(copied bool) table {
	m.Lock()
	defer m.Unlock()
	if !copied {
		return m.states
	}
	t := make(table, len(m.states))
	for k, v := range m.states {
		t[k] = v
	}
	return t
}

func main() {
	m := &monitor{states: table{}}
	for i := 0; i < 3000; i++ {
		m.states[i] = i * i
	}
	var wg sync.WaitGroup
	sums := make([]int, 4)
	for r := range sums {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; i < 500; i++ {
				t := m.get(os.Args[1] == "copy")
				for k := 0; k < 3000; k += 10 {
					sums[r] += t[k] & 7
				}
			}
		}()
	}
	wg.Wait()
	fmt.Println(sums)
}
