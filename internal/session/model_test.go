package session

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// modelEntry is an entry of the model: what a store must hold after any operations.
type modelEntry struct{ ID, Parent, Type, Target, Mark string }

// machine drives a store and a plain list of entries side by side.
type machine struct {
	dir     string
	s       *Store
	entries []modelEntry
	leaf    string
	saved   bool
	texts   int
}

func (m *machine) close() { m.s.Close() }

func (m *machine) config() Config {
	return Config{Dir: m.dir, Cwd: "/proj", Durability: DurabilityNone}
}

func (m *machine) appended(id, typ string, err error, t *rapid.T) {
	if err != nil {
		t.Fatal(err)
	}
	m.entries = append(m.entries, modelEntry{ID: id, Parent: m.leaf, Type: typ})
	m.leaf = id
	m.saved = m.saved || typ == TypeMessage
}

func (m *machine) pick(t *rapid.T) string {
	if len(m.entries) == 0 {
		t.Skip("nothing to pick")
	}
	return m.entries[rapid.IntRange(0, len(m.entries)-1).Draw(t, "entry")].ID
}

func (m *machine) AppendUser(t *rapid.T) {
	m.texts++
	id, err := m.s.Append(user(fmt.Sprint("text ", m.texts)))
	m.appended(id, TypeMessage, err, t)
}

func (m *machine) AppendAssistant(t *rapid.T) {
	id, err := m.s.Append(assistant(rapid.String().Draw(t, "text")))
	m.appended(id, TypeMessage, err, t)
}

func (m *machine) AppendOther(t *rapid.T) {
	id, err := m.s.Append(ModelChange{"p", "m"})
	m.appended(id, TypeModelChange, err, t)
}

func (m *machine) Label(t *rapid.T) {
	target := m.pick(t)
	mark := rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "mark")
	id, err := m.s.Append(Label{TargetID: target, Label: mark})
	m.appended(id, TypeLabel, err, t)
	e := &m.entries[len(m.entries)-1]
	e.Target, e.Mark = target, mark
}

func (m *machine) Branch(t *rapid.T) {
	m.leaf = ""
	if len(m.entries) > 0 && rapid.IntRange(0, 9).Draw(t, "root") > 0 {
		m.leaf = m.pick(t)
	}
	if err := m.s.SetLeaf(m.leaf); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) Reopen(t *rapid.T) {
	path := m.s.Path()
	if err := m.s.Close(); err != nil {
		t.Fatal(err)
	}
	if !m.saved {
		s, err := Create(m.config())
		if err != nil {
			t.Fatal(err)
		}
		m.s, m.entries, m.leaf = s, nil, ""
		return
	}
	s, err := Open(path, Config{Durability: DurabilityNone})
	if err != nil {
		t.Fatal(err)
	}
	m.s, m.leaf = s, m.entries[len(m.entries)-1].ID
}

func (m *machine) TornTail(t *rapid.T) {
	if !m.saved {
		t.Skip("no file")
	}
	path := m.s.Path()
	m.s.Close()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"type":"message","id":"torn","parentId":null,"mess`)
	f.Close()
	if m.s, err = Open(path, Config{Durability: DurabilityNone}); err != nil {
		t.Fatal(err)
	}
	m.leaf = m.entries[len(m.entries)-1].ID
}

func (m *machine) Fork(t *rapid.T) {
	id := m.pick(t)
	i := m.s.idx.find(id)
	text, f, err := m.s.Fork(id)
	if m.s.idx.recs[i].role != roleUser {
		if err != ErrInvalidFork {
			t.Fatal(err)
		}
		return
	}
	if err != nil || text == "" {
		t.Fatal(text, err)
	}
	m.become(f, m.entries[i].Parent, t)
}

func (m *machine) Clone(t *rapid.T) {
	c, err := m.s.Clone()
	if m.leaf == "" || !m.saved {
		if err != ErrNothingToClone && err != ErrNotSaved {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	m.become(c, m.leaf, t)
}

// become turns to the fork: the branch without labels, linked anew, and the labels
// of its entries at the end.
func (m *machine) become(f *Store, leaf string, t *rapid.T) {
	byID := map[string]modelEntry{}
	marks := map[string]string{}
	var order []string
	for _, e := range m.entries {
		byID[e.ID] = e
		if e.Type != TypeLabel {
			continue
		}
		if at := slices.Index(order, e.Target); at >= 0 && e.Mark == "" {
			order = slices.Delete(order, at, at+1)
		} else if at < 0 && e.Mark != "" {
			order = append(order, e.Target)
		}
		marks[e.Target] = e.Mark
	}
	var path []modelEntry
	for id := leaf; id != ""; id = byID[id].Parent {
		if byID[id].Type != TypeLabel {
			path = append([]modelEntry{byID[id]}, path...)
		}
	}
	m.saved = false
	prev := ""
	for i := range path {
		path[i].Parent = prev
		prev = path[i].ID
		m.saved = m.saved || path[i].Type == TypeMessage
	}
	v := f.View()
	for _, target := range order {
		if i := slices.IndexFunc(path, func(e modelEntry) bool { return e.ID == target }); i < 0 || v.Len() <= len(path) {
			continue
		}
		id := v.Entry(len(path)).ID
		path = append(path, modelEntry{ID: id, Parent: prev, Type: TypeLabel, Target: target, Mark: marks[target]})
		prev = id
	}
	m.s.Close()
	m.s, m.entries, m.leaf = f, path, prev
}

func (m *machine) check(t *rapid.T, s *Store) {
	v := s.View()
	got := make([]modelEntry, 0, len(m.entries))
	for i := range v.Len() {
		e := v.Entry(i)
		me := modelEntry{ID: e.ID, Parent: e.ParentID, Type: e.Type}
		if e.Type == TypeLabel {
			raw, err := v.Raw(i)
			if err != nil {
				t.Fatal(err)
			}
			me.Target, me.Mark = string(text(member(raw, "targetId"))), string(text(member(raw, "label")))
		}
		got = append(got, me)
	}
	if diff := cmp.Diff(append([]modelEntry{}, m.entries...), got); diff != "" {
		t.Fatal(diff)
	}
}

func (m *machine) Check(t *rapid.T) {
	m.check(t, m.s)
	if m.s.LeafID() != m.leaf || m.s.Saved() != m.saved {
		t.Fatal(m.s.LeafID(), m.leaf, m.s.Saved(), m.saved)
	}
	if n, err := m.s.View().MessageCount(); err != nil {
		t.Fatal(n, err)
	} else if c, err := m.s.View().Context(); err != nil || len(c.Messages) != n {
		t.Fatal(n, len(c.Messages), err)
	}
	if m.saved {
		look, err := Open(m.s.Path(), Config{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		m.check(t, look)
		look.Close()
	}
}

// TestStoreAgainstModel runs random operations on a store and on a list.
func TestStoreAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "run")
		if err != nil {
			t.Fatal(err)
		}
		m := &machine{dir: dir}
		if m.s, err = Create(m.config()); err != nil {
			rt.Fatal(err)
		}
		defer m.close()
		rt.Repeat(map[string]func(*rapid.T){
			"user": m.AppendUser, "assistant": m.AppendAssistant, "other": m.AppendOther, "label": m.Label, "branch": m.Branch,
			"reopen": m.Reopen, "torn": m.TornTail, "fork": m.Fork, "clone": m.Clone, "": m.Check,
		})
	})
}
