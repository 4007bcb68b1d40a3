// Reads a list of processes and prints a digest of them with the time at which each began.
package main

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
)

type process struct {
	pid   int
	name  string
	began int64 // seconds since 1970
}

var kept int64

// bootTime says when the machine was started, in seconds since 1970.
func bootTime(keep bool) int64 {
	if keep && kept != 0 {
		return kept
	}
	f, err := os.Open("/proc/stat")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if rest, found := strings.CutPrefix(lines.Text(), "btime "); found {
			kept, err = strconv.ParseInt(rest, 10, 64)
			if err != nil {
				panic(err)
			}
			return kept
		}
	}
	panic("no btime")
}

func parse(line string, keep bool) process {
	fields := strings.Fields(line)
	pid, _ := strconv.Atoi(fields[0])
	ticks, _ := strconv.ParseInt(fields[2], 10, 64)
	return process{pid, strings.Trim(fields[1], "()"), bootTime(keep) + ticks/100}
}

func main() {
	keep := os.Args[1] == "keep"
	text, err := os.ReadFile("processes.txt")
	if err != nil {
		panic(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var all []process
	for _, line := range lines {
		all = append(all, parse(line, keep))
	}
	sort.Slice(all, func(i, j int) bool { return all[i].began < all[j].began })
	first := all[0].began
	counts := map[string]int{}
	state := sha256.New()
	for round := 0; round < 90; round++ {
		for _, p := range all {
			row := fmt.Sprintf("%d %s %d", p.pid+round, p.name, p.began-first)
			for _, word := range strings.Fields(row) {
				counts[word]++
			}
			state.Write([]byte(row))
		}
	}
	fmt.Printf("%d %d %x\n", len(all), len(counts), state.Sum(nil)[:8])
}
