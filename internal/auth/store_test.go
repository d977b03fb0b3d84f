package auth

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

func TestNewReadsNothing(t *testing.T) {
	k := setup{own: `{}`}.keys(t)
	reads := 0
	k.store.read = func(path string) ([]byte, error) { reads++; return os.ReadFile(path) }
	k.SetRuntime("p", "k")
	if k.Has("p"); reads != 0 {
		t.Errorf("%d reads before anything needed the file", reads)
	}
	k.Has("q")
	k.Has("r")
	if reads != 1 {
		t.Errorf("%d reads for two questions, want 1", reads)
	}
}

func TestMalformedFilesKeepTheLastGoodState(t *testing.T) {
	k := setup{own: `{"p":{"type":"api_key","key":"good"}}`}.keys(t)
	if c, err := k.Provider(t.Context(), "p"); c.APIKey != "good" {
		t.Fatal(c, err)
	}
	path := k.store.layers[0].path
	broken := `{"p":{"type":"api_key","key":"top-secret"`
	if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := k.Provider(t.Context(), "p"); c.APIKey != "good" {
		t.Errorf("%+v, %v: the last good state is gone", c, err)
	}
	want := []string{"Failed to parse " + path + ": unexpected end of file where ',' or '}' is due at line 1, column 42. Its logins are not used, and it is not changed."}
	if diff := cmp.Diff(want, k.Diagnostics()); diff != "" {
		t.Error(diff)
	}
	if err := k.SaveKey(t.Context(), "q", "x"); !errors.Is(err, ErrBroken) || strings.Contains(err.Error(), "top-secret") {
		t.Errorf("SaveKey: %v", err)
	}
	if err := k.Delete(t.Context(), "p"); !errors.Is(err, ErrBroken) {
		t.Errorf("Delete: %v", err)
	}
	if data, _ := os.ReadFile(path); string(data) != broken {
		t.Errorf("a broken file was changed: %s", data)
	}
}

func TestFaultyEntries(t *testing.T) {
	k := setup{own: "{\n\"a\": 5,\n\"b\": {\"type\":\"api_key\",\"key\":[\"top-secret\"]},\n\"c\": {\"key\":\"k\"},\n\"d\": {\"type\":\"api_key\",\"key\":\"fine\"}}"}.keys(t)
	path := k.store.layers[0].path
	want := []string{
		path + ": a: must be an object, not a number (line 2, column 6)",
		path + ": b: has a member of the wrong type (line 3, column 6)",
		path + `: c: "type" must be "api_key" or "oauth" (line 4, column 6)`,
	}
	if diff := cmp.Diff(want, k.Diagnostics()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"d"}, k.Stored()); diff != "" {
		t.Error(diff)
	}
}

func TestNotAnObject(t *testing.T) {
	k := setup{own: `["top-secret"]`}.keys(t)
	got := k.Diagnostics()
	if len(got) != 1 || !strings.HasSuffix(got[0], "it must be an object, not an array. Its logins are not used, and it is not changed.") {
		t.Errorf("%v", got)
	}
}

func TestSaveAndDelete(t *testing.T) {
	k := setup{below: "{\n  // mine\n  \"old\": {\"type\": \"api_key\", \"key\": \"o\"},\n  \"both\": {\"type\": \"api_key\", \"key\": \"b\"}\n}\n"}.keys(t)
	own := k.store.layers[0].path
	if err := k.SaveKey(t.Context(), "both", "new"); err != nil {
		t.Fatal(err)
	}
	if err := k.SaveKey(t.Context(), "other", "o2"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"both\": {\n    \"type\": \"api_key\",\n    \"key\": \"new\"\n  },\n  \"other\": {\n    \"type\": \"api_key\",\n    \"key\": \"o2\"\n  }\n}\n"
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Error(diff)
	}
	if c, _ := k.Provider(t.Context(), "both"); c.APIKey != "new" {
		t.Errorf("the new key does not count: %+v", c)
	}
	if diff := cmp.Diff([]string{"both", "old", "other"}, k.Stored()); diff != "" {
		t.Error(diff)
	}
	if err := k.Delete(t.Context(), "both"); err != nil {
		t.Fatal(err)
	}
	if k.Has("both") {
		t.Error("deleted, but a lower layer still has it")
	}
	data, _ = os.ReadFile(k.store.layers[1].path)
	if want := "{\n  // mine\n  \"old\": {\"type\": \"api_key\", \"key\": \"o\"}\n}\n"; string(data) != want {
		t.Errorf("lower layer:\n%s", data)
	}
	if left, _ := filepath.Glob(own + "*"); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	k := setup{below: `{"p":{"type":"api_key","key":"k"}}`}.keys(t)
	own, below := k.store.layers[0].path, k.store.layers[1].path
	if err := os.Chmod(below, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := k.SaveKey(t.Context(), "p", "k"); err != nil {
		t.Fatal(err)
	}
	if err := k.Delete(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{own: 0o600, below: 0o600, filepath.Dir(own): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// Field report 135: parallel starts must not fail for a lock, and other programs'
// logins count at once.
func TestFieldReport135ReadsTakeNoLock(t *testing.T) {
	k := setup{own: `{"p":{"type":"api_key","key":"one"}}`}.keys(t)
	path := k.store.layers[0].path
	if err := os.Mkdir(path+".lock", 0o700); err != nil { // another program holds the lock
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if c, err := k.Provider(t.Context(), "p"); c.APIKey != "one" {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
	wg.Wait()
	if err := os.WriteFile(path, []byte(`{"p":{"type":"api_key","key":"two!"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := k.Provider(t.Context(), "p"); c.APIKey != "two!" {
		t.Errorf("%+v, %v: a login of another program does not count", c, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if k.Has("p") {
		t.Error("a key of a removed file counts")
	}
}

func TestParallelSaves(t *testing.T) {
	k := setup{}.keys(t)
	var wg sync.WaitGroup
	for _, provider := range []string{"a", "b", "c", "d"} {
		wg.Go(func() {
			if err := k.SaveKey(t.Context(), provider, "k"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, k.Stored()); diff != "" {
		t.Error(diff)
	}
}

func TestLoginGoesBackToItsFile(t *testing.T) {
	k := setup{below: `{"p":{"type":"oauth","access":"a","refresh":"r","expires":9000000}}`, now: time.Unix(1, 0)}.keys(t)
	e, file, _ := k.store.entry("p")
	if err := k.Save(t.Context(), e.login(file).File, "p", jsonx.Raw(`{"type":"oauth","access":"b","refresh":"s","expires":9000000}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(k.store.layers[0].path); !os.IsNotExist(err) {
		t.Error("the login was copied to the first layer")
	}
	if c, _ := k.Provider(t.Context(), "p"); c.APIKey != "b" {
		t.Errorf("%+v", c)
	}
}

// TestEnvKeysOfTheCatalogue compares the table with the shared facts.
func TestEnvKeysOfTheCatalogue(t *testing.T) {
	data, err := os.ReadFile("../../../shared/data/catalogue/models.json")
	if err != nil {
		t.Skip("no shared facts here")
	}
	var facts struct {
		Providers []struct {
			ID      string   `json:"id"`
			EnvKeys []string `json:"envKeys"`
		} `json:"providers"`
	}
	if err := jsonx.Unmarshal(data, &facts); err != nil {
		t.Fatal(err)
	}
	for _, p := range facts.Providers {
		if diff := cmp.Diff(strings.Join(p.EnvKeys, " "), strings.Join(envKeys(p.ID), " ")); diff != "" {
			t.Errorf("%s: %s", p.ID, diff)
		}
	}
}
