package dialect

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChoose(t *testing.T) {
	tests := []struct {
		flag, env, argv0 string
		want, err        string
	}{
		{"", "", "isotope", Isotope, ""},
		{"", "", "", Isotope, ""},
		{"", "", "/usr/bin/pi", Pi, ""},
		{"", "", `C:\tools\Atomic.EXE`, Atomic, ""},
		{"", "", "pi-rpc", Isotope, ""},
		{"", "atomic", "pi", Atomic, ""},
		{"pi", "atomic", "isotope", Pi, ""},
		{"isotope", "bogus", "pi", Isotope, ""},
		{"Pi", "", "", "", `unknown dialect "Pi": use isotope, atomic or pi`},
		{"", "senpi", "pi", "", `unknown dialect "senpi": use isotope, atomic or pi`},
	}
	for _, tt := range tests {
		d, err := Choose(tt.flag, tt.env, tt.argv0)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if d.Name != tt.want || got != tt.err {
			t.Errorf("Choose(%q, %q, %q) = %q, %q; want %q, %q", tt.flag, tt.env, tt.argv0, d.Name, got, tt.want, tt.err)
		}
	}
}

func TestSplitAnswers(t *testing.T) {
	type answers struct {
		NullModel, NullResult bool
		Compaction, Word      string
		Temp                  string
	}
	want := map[string]answers{
		Isotope: {true, true, "verbatim-lines", "isotope", "isotope-"},
		Atomic:  {true, true, "verbatim-lines", "atomic", "atomic-"},
		Pi:      {false, false, "summary", "pi", "pi-"},
	}
	got := map[string]answers{}
	for _, name := range Names() {
		d, ok := Named(name)
		if !ok {
			t.Fatalf("Named(%q) not found", name)
		}
		got[name] = answers{d.NullModel, d.NullCompactionResult, d.DefaultCompaction, d.SessionWord(), d.TempPrefix()}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func lookup(vars map[string]string) Lookup {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func TestAgentDirs(t *testing.T) {
	home := filepath.FromSlash("/home/u")
	tests := []struct {
		dialect string
		env     map[string]string
		want    []string
	}{
		{Isotope, nil, []string{"/home/u/.isotope/agent", "/home/u/.atomic/agent", "/home/u/.pi/agent"}},
		{Atomic, nil, []string{"/home/u/.atomic/agent", "/home/u/.pi/agent"}},
		{Pi, nil, []string{"/home/u/.pi/agent"}},
		{Isotope, map[string]string{"PI_CODING_AGENT_DIR": "/a", "ATOMIC_CODING_AGENT_DIR": "/b"}, []string{"/b"}},
		{Atomic, map[string]string{"PI_CODING_AGENT_DIR": "/a/"}, []string{"/a"}},
		{Pi, map[string]string{"PI_CODING_AGENT_DIR": "/a", "ATOMIC_CODING_AGENT_DIR": "/b"}, []string{"/a"}},
		{Pi, map[string]string{"ATOMIC_CODING_AGENT_DIR": "~/b"}, []string{"/home/u/b"}},
		{Pi, map[string]string{"ISOTOPE_CODING_AGENT_DIR": "/c"}, []string{"/c"}},
		{Pi, map[string]string{"PI_CODING_AGENT_DIR": ""}, []string{"/home/u/.pi/agent"}},
	}
	for _, tt := range tests {
		d, _ := Named(tt.dialect)
		got := d.AgentDirs(lookup(tt.env), home)
		for i := range got {
			got[i] = filepath.ToSlash(got[i])
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s %v: %s", tt.dialect, tt.env, diff)
		}
	}
}

func TestGetenv(t *testing.T) {
	env := lookup(map[string]string{"PI_X": "p", "ATOMIC_X": "a", "ISOTOPE_Y": "", "PI_Y": "y"})
	tests := []struct{ dialect, name, want string }{
		{Isotope, "X", "a"}, {Atomic, "X", "a"}, {Pi, "X", "p"}, {Isotope, "Y", "y"}, {Isotope, "Z", ""},
	}
	for _, tt := range tests {
		d, _ := Named(tt.dialect)
		if got, ok := d.Getenv(tt.name, env); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s.Getenv(%s) = %q, %v; want %q", tt.dialect, tt.name, got, ok, tt.want)
		}
	}
}

func TestOfflineAndSessionDir(t *testing.T) {
	for value, want := range map[string]bool{"1": true, "true": true, "yes": true, "0": false, "False": false, "off": false, "": false} {
		for _, prefix := range []string{"PI_", "ATOMIC_", "ISOTOPE_"} {
			d, _ := Named(Pi)
			if got := d.Offline(lookup(map[string]string{prefix + "OFFLINE": value})); got != want {
				t.Errorf("%sOFFLINE=%q: Offline() = %v", prefix, value, got)
			}
		}
	}
	d, _ := Named(Atomic)
	if got := d.SessionDir(lookup(map[string]string{"PI_CODING_AGENT_SESSION_DIR": "~/s"}), "/h"); filepath.ToSlash(got) != "/h/s" {
		t.Errorf("SessionDir() = %q", got)
	}
	if got := d.SessionDir(lookup(nil), "/h"); got != "" {
		t.Errorf("SessionDir() = %q, want none", got)
	}
}

func TestProjectDirs(t *testing.T) {
	d, _ := Named(Atomic)
	got := d.ProjectDirs("p")
	want := []string{filepath.Join("p", ".atomic"), filepath.Join("p", ".pi")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
