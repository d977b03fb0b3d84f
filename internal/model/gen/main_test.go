package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBuild(t *testing.T) {
	files, err := build([]byte(`{"source":"here","generatedAt":1700000000000,"providers":[
	  {"id":"a","name":"A","api":"x","baseUrl":"u","models":[{"id":"1"},{"id":"2","api":"y"},{"id":"3","api":"z"}]},
	  {"id":"b","name":"B","api":"z","baseUrl":"u","models":[{"id":"1"}]}]}`), []string{"x", "y"})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 || files["a.json.gz"] == nil {
		t.Errorf("files %v", files)
	}
	index := string(files["index.json"])
	for _, part := range []string{`"source": "here"`, `"date": "2023-11-14"`, `"models": 2`} {
		if !strings.Contains(index, part) {
			t.Errorf("the index lacks %s:\n%s", part, index)
		}
	}
	if strings.Contains(index, `"b"`) {
		t.Error("a provider without models is in the index")
	}
	if _, err := build([]byte(`{`), nil); err == nil {
		t.Error("broken facts were accepted")
	}
}

// TestCommittedCatalogueIsCurrent builds the catalogue from the shared facts and
// compares it with what is committed.
func TestCommittedCatalogueIsCurrent(t *testing.T) {
	data, err := os.ReadFile("../../../../shared/data/catalogue/models.json")
	if err != nil {
		t.Skip("no shared facts here")
	}
	files, err := build(data, strings.Split(apis, ","))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", "catalogue", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from the facts: run go generate ./internal/model", name)
		}
	}
}

func TestRunReplacesTheDirectory(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "facts.json")
	if err := os.WriteFile(in, []byte(`{"providers":[{"id":"a","api":"x","models":[{"id":"1"}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(out, "gone.json.gz")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(in, out, []string{"x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Error("a file of an older catalogue is left")
	}
	if _, err := os.Stat(filepath.Join(out, "a.json.gz")); err != nil {
		t.Error(err)
	}
}
