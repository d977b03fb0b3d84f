// Command gen makes the embedded catalogue of models from a file of facts: one
// index of providers and one compressed list of models for each of them, so that a
// program that uses one provider decodes that one alone.
//
// It is run by hand (go generate ./internal/model) when the facts are newer.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// apis are the protocols whose models are taken. The program speaks all but the last,
// which belongs to a service of another program: its models are listed, and choosing one
// says that its protocol is not there.
const apis = "openai-completions,openai-responses,azure-openai-responses,openai-codex-responses," +
	"anthropic-messages,bedrock-converse-stream,google-generative-ai,google-vertex,mistral-conversations," +
	"pi-messages"

// The file of facts; data/catalogue/README.md of the shared documents describes it.
type facts struct {
	Source      string     `json:"source"`
	GeneratedAt int64      `json:"generatedAt"` // ms since 1970
	Providers   []provider `json:"providers"`
}

type provider struct {
	ID      string      `json:"id"`
	Name    string      `json:"name"`
	API     string      `json:"api"`
	BaseURL string      `json:"baseUrl"`
	Models  []jsonx.Raw `json:"models"`
}

// The index of the catalogue, as package model reads it.
type index struct {
	Source    string          `json:"source"`
	Date      string          `json:"date"`
	Providers []indexProvider `json:"providers"`
}

type indexProvider struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	API     string `json:"api"`
	BaseURL string `json:"baseUrl"`
	Models  int    `json:"models"`
}

func main() {
	in := flag.String("in", "../../../shared/data/catalogue/models.json", "the file of facts")
	out := flag.String("out", "catalogue", "the directory of the catalogue")
	list := flag.String("apis", apis, "the protocols whose models are taken")
	flag.Parse()
	if err := run(*in, *out, strings.Split(*list, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(in, out string, apis []string) error {
	data, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	files, err := build(data, apis)
	if err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(out, "*.json*"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if _, kept := files[filepath.Base(path)]; !kept {
			err = errors.Join(err, os.Remove(path))
		}
	}
	for name, content := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(out, name), content, 0o644))
	}
	return err
}

// build returns the files of the catalogue by name. Equal facts give equal bytes.
func build(data []byte, apis []string) (map[string][]byte, error) {
	var f facts
	if err := jsonx.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("reading the facts: %w", err)
	}
	files := map[string][]byte{}
	idx := index{Source: f.Source, Date: time.UnixMilli(f.GeneratedAt).UTC().Format(time.DateOnly)}
	for _, p := range f.Providers {
		var models []jsonx.Raw
		for _, m := range p.Models {
			var head struct {
				ID  string `json:"id"`
				API string `json:"api"`
			}
			if err := jsonx.Unmarshal(m, &head); err != nil {
				return nil, fmt.Errorf("provider %s: %w", p.ID, err)
			}
			if head.API == "" {
				head.API = p.API
			}
			if slices.Contains(apis, head.API) {
				models = append(models, m)
			}
		}
		if len(models) == 0 {
			continue
		}
		packed, err := pack(models)
		if err != nil {
			return nil, err
		}
		files[p.ID+".json.gz"] = packed
		idx.Providers = append(idx.Providers, indexProvider{p.ID, p.Name, p.API, p.BaseURL, len(models)})
	}
	text, err := jsonx.MarshalIndent(idx)
	if err != nil {
		return nil, err
	}
	files["index.json"] = append(text, '\n')
	return files, nil
}

// pack compresses a list of models. Nothing in it depends on the time.
func pack(models []jsonx.Raw) ([]byte, error) {
	text, err := jsonx.Marshal(models)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	zip, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = zip.Write(text)
	if err = errors.Join(err, zip.Close()); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
