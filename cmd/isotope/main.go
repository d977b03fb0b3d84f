// Command isotope is a headless coding agent: see the README.
package main

import (
	"context"
	"os"

	"github.com/isotope-agent/isotope/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr))
}
