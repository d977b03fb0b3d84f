package model

import (
	"io/fs"
	"sync"
	"testing"
)

// HasKey looks into the registry (for the key of models.json), from many goroutines,
// while the files are read again.
func TestConcurrentUse(t *testing.T) {
	var r *Registry
	r = New(Options{
		Files: []string{"models.json", "missing.json"},
		HasKey: func(p string) bool {
			key, _, _ := r.RequestConfig(p, "")
			return key != ""
		},
		ReadFile: func(path string) ([]byte, error) {
			if path != "models.json" {
				return nil, fs.ErrNotExist
			}
			return []byte(local), nil
		},
	})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 5 {
				if models := r.Available(); len(models) < 3 {
					t.Errorf("%d models", len(models))
				}
				if _, err := r.Select("scripted", "demo"); err != nil {
					t.Error(err)
				}
				r.Cycle(nil, nil, false)
				r.Diagnostics()
				r.ProviderName("chat")
				if sel, err := r.Resolve(Flags{Model: "chat/new"}); err != nil || sel.Model.ID != "new" {
					t.Errorf("%+v, %v", sel, err)
				}
				r.Scope([]string{"chat/*", "scripted/x"})
			}
		})
		wg.Go(func() {
			for range 5 {
				r.Reload()
			}
		})
	}
	wg.Wait()
}

func TestDated(t *testing.T) {
	for id, want := range map[string]bool{"m-20250101": true, "m-2025010": false, "m-202501011": false, "m_20250101": false, "-20250101": true, "20250101": false, "m-2025o101": false} {
		if dated(id) != want {
			t.Errorf("dated(%q) = %v", id, !want)
		}
	}
}

func TestRef(t *testing.T) {
	if p, id, ok := Ref("a/b/c"); p != "a" || id != "b/c" || !ok {
		t.Errorf("%q, %q, %v", p, id, ok)
	}
	if _, _, ok := Ref("abc"); ok {
		t.Error("a reference without a slash")
	}
}

func TestScriptedInModelsJSON(t *testing.T) {
	r := registry(t, `{"providers":{"scripted":{"models":[{"id":"tiny","api":"scripted","contextWindow":2000}],"modelOverrides":{"demo":{"contextWindow":500}}}}}`)
	if d := r.Diagnostics(); len(d) != 0 {
		t.Fatal(d)
	}
	sel, err := r.Resolve(Flags{Model: "scripted/tiny"})
	if err != nil || sel.Model.ContextWindow != 2000 || sel.Model.API != "scripted" {
		t.Errorf("%+v, %v", sel.Model, err)
	}
	if demo, _ := r.Find("scripted", "demo"); demo.ContextWindow != 500 {
		t.Errorf("%+v", demo)
	}
	if !r.Known("scripted") || r.Known("nowhere") || !r.Usable("scripted") || r.Usable("chat") {
		t.Error("what is known and usable")
	}
}
