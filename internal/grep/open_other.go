//go:build !unix

package grep

import "os"

type rawFile struct{ *os.File }

func open(name string) (rawFile, error) {
	f, err := os.Open(name)
	return rawFile{f}, err
}

func (f rawFile) close() { f.Close() }
