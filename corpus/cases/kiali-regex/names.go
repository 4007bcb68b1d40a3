package main

import (
	"fmt"
	"os"
	"regexp"
)

var patterns = []string{"^istio-.*", "^kube-(system|public)$", "^team-[0-9]+-(dev|test)$"}

// excluded tells whether a namespace is one that the cache leaves out.
func excluded(name string, compiled []*regexp.Regexp) bool {
	for i, pattern := range patterns {
		expression := (*regexp.Regexp)(nil)
		if compiled == nil {
			expression = regexp.MustCompile(pattern)
		} else {
			expression = compiled[i]
		}
		if expression.MatchString(name) {
			return true
		}
	}
	return false
}

func digest(name string) uint64 {
	sum := uint64(1469598103934665603)
	for round := 0; round < 60; round++ {
		for i := 0; i < len(name); i++ {
			sum = (sum ^ uint64(name[i])) * 1099511628211
		}
	}
	return sum
}

func main() {
	var compiled []*regexp.Regexp
	if os.Args[1] == "once" {
		for _, pattern := range patterns {
			compiled = append(compiled, regexp.MustCompile(pattern))
		}
	}
	left, sum := 0, uint64(0)
	for i := 0; i < 30000; i++ {
		name := fmt.Sprintf("team-%d-%s", i%500, []string{"dev", "live", "stage"}[i%3])
		if !excluded(name, compiled) {
			left++
			sum ^= digest(name)
		}
	}
	fmt.Println(left, sum)
}
