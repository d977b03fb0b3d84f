package model

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

//go:embed catalogue
var catalogueFiles embed.FS

// catalogueProvider is a built-in provider as the index states it.
type catalogueProvider struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	API     string `json:"api"`
	BaseURL string `json:"baseUrl"`
	Models  int    `json:"models"`
}

type catalogueIndex struct {
	Source    string              `json:"source"`
	Date      string              `json:"date"`
	Providers []catalogueProvider `json:"providers"`
}

// catalogue reads the index on first use. Models are decoded for each provider by
// itself, when that provider is asked for.
var catalogue = sync.OnceValues(func() (catalogueIndex, error) {
	var idx catalogueIndex
	data, err := catalogueFiles.ReadFile("catalogue/index.json")
	if err == nil {
		err = jsonx.Unmarshal(data, &idx)
	}
	if err != nil {
		return catalogueIndex{}, fmt.Errorf("reading the catalogue: %w", err)
	}
	return idx, nil
})

// CatalogueSource returns where the facts of the catalogue come from and their date
// (YYYY-MM-DD).
func CatalogueSource() (source, date string) {
	idx, _ := catalogue()
	return idx.Source, idx.Date
}

// catalogueModel is a model of the catalogue: api and baseUrl stand only where they
// differ from the provider's.
type catalogueModel struct {
	llm.Model
	Headers map[string]string `json:"headers"`
}

// decode returns the provider's models.
func (p catalogueProvider) decode() ([]*llm.Model, error) {
	packed, err := catalogueFiles.ReadFile("catalogue/" + p.ID + ".json.gz")
	if err != nil {
		return nil, err
	}
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(zip)
	if err = errors.Join(err, zip.Close()); err != nil {
		return nil, err
	}
	list := make([]catalogueModel, 0, p.Models)
	if err := jsonx.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("catalogue of %s: %w", p.ID, err)
	}
	models := make([]*llm.Model, len(list))
	for i := range list {
		m := &list[i].Model
		m.Provider, m.Headers = p.ID, list[i].Headers
		if m.API == "" {
			m.API = p.API
		}
		if m.BaseURL == "" {
			m.BaseURL = p.BaseURL
		}
		if m.Compat, err = withAliases(m.Compat); err != nil {
			return nil, fmt.Errorf("catalogue of %s: %s: %w", p.ID, m.ID, err)
		}
		models[i] = m
	}
	return models, nil
}

// The built-in provider that replays scripts, and its embedded script.
const (
	ScriptedProvider = "scripted"
	ScriptedDemo     = "demo"
)

// scriptedModel returns the model of a script: the demo, or a file named by its path.
func scriptedModel(id string) *llm.Model {
	name := id
	if id == ScriptedDemo {
		name = "Scripted demo"
	}
	return &llm.Model{
		ID: id, Name: name, API: llm.APIScripted, Provider: ScriptedProvider, Reasoning: true,
		Input: []string{"text", "image"}, ContextWindow: defaultContextWindow, MaxTokens: defaultMaxTokens,
	}
}
