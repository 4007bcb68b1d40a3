// Sorts numbers in two halves and merges them.
package main

import (
	"fmt"
	"slices"
	"sync"
)

func main() {
	const n = 3_000_000
	v := make([]uint64, n)
	x := uint64(1)
	for i := range v {
		x = x*6364136223846793005 + 1442695040888963407
		v[i] = x >> 20
	}
	var wg sync.WaitGroup
	for _, half := range [][]uint64{v[:n/2], v[n/2:]} {
		wg.Add(1)
		go func() { defer wg.Done(); slices.Sort(half) }()
	}
	wg.Wait()
	out := make([]uint64, 0, n)
	a, b := v[:n/2], v[n/2:]
	for len(a) > 0 && len(b) > 0 {
		if a[0] <= b[0] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	out = append(append(out, a...), b...)
	fmt.Println(out[n/2])
}
