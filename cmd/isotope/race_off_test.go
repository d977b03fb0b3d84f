//go:build !race

package main

// underRace says that the race detector is on: it multiplies memory.
const underRace = false
