package session

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// longSession writes a session of n messages in the proportions of real ones (user,
// answer with a tool call, result, answer), about 630 bytes an entry.
func longSession(b *testing.B, n int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "long.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	rnd := rand.New(rand.NewPCG(1, 2))
	words := func(k int) string {
		var s strings.Builder
		for range k {
			s.WriteString(strings.Repeat(string(rune('a'+rnd.IntN(26))), 3) + " ")
		}
		return s.String()
	}
	const usage = `"api":"openai-completions","provider":"mock-chat","model":"mock-gpt","usage":{"input":1200,"output":60,"cacheRead":0,"cacheWrite":0,"totalTokens":1260,"cost":{"input":0.0012,"output":0.00012,"cacheRead":0,"cacheWrite":0,"total":0.00132}}`
	fmt.Fprintln(w, `{"type":"session","version":3,"id":"long","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}`)
	fmt.Fprintln(w, `{"type":"model_change","id":"00000001","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","provider":"mock-chat","modelId":"mock-gpt"}`)
	parent, ms := "00000001", int64(1735689600000)
	for i := range n {
		ms += 1000
		var m string
		switch i % 4 {
		case 0:
			m = fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"question %d %s"}],"timestamp":%d}`, i, words(40), ms)
		case 1:
			m = fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"%s"},{"type":"toolCall","id":"call_%d","name":"bash","arguments":{"command":"ls %s"}}],"stopReason":"toolUse","timestamp":%d,%s}`, words(30), i, words(4), ms, usage)
		case 2:
			m = fmt.Sprintf(`{"role":"toolResult","toolCallId":"call_%d","toolName":"bash","content":[{"type":"text","text":"%s"}],"isError":false,"timestamp":%d}`, i-1, words(120), ms)
		case 3:
			m = fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"%s"}],"stopReason":"stop","timestamp":%d,%s}`, words(80), ms, usage)
		}
		id := fmt.Sprintf("%08x", 0x10000000+i)
		fmt.Fprintf(w, `{"type":"message","id":"%s","parentId":"%s","timestamp":"%s","message":%s}`+"\n", id, parent, formatTime(ms), m)
		parent = id
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	f.Close()
	return path
}

const long = 200_000

func BenchmarkOpen200k(b *testing.B) {
	path := longSession(b, long)
	st, _ := os.Stat(path)
	b.SetBytes(st.Size())
	b.ReportAllocs()
	for b.Loop() {
		s, err := Open(path, Config{})
		if err != nil || s.Len() != long+1 {
			b.Fatal(s.Len(), err)
		}
		s.Close()
	}
}

// BenchmarkMemory200k reports the memory that an open session holds per entry.
func BenchmarkMemory200k(b *testing.B) {
	path := longSession(b, long)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before := heap()
		s, err := Open(path, Config{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(heap()-before)/long, "B/entry")
		s.Close()
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{100, long} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, err := Open(longSession(b, n), Config{Durability: DurabilityNone})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			b.ReportAllocs()
			for b.Loop() {
				add(b, s, user("a question of the usual length, more or less"))
			}
		})
	}
}

func BenchmarkViews200k(b *testing.B) {
	s, err := Open(longSession(b, long), Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	v := s.View()
	middle := v.Entry(long / 2 / 4 * 4).ID
	for middle == "" || s.idx.recs[s.idx.find(middle)].role != roleUser {
		middle = v.Entry(v.Index(middle) + 1).ID
	}
	for name, f := range map[string]func() error{
		"entries": func() error {
			seq, err := v.Entries("")
			for range seq {
			}
			return err
		},
		"messages": func() error {
			for _, err := range v.Messages() {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"tree":         func() error { return v.WriteTree(io.Discard) },
		"forkMessages": func() error { _, err := v.ForkMessages(); return err },
		"context":      func() error { _, err := v.Context(); return err },
		"stats": func() error {
			v.cache.upTo, v.cache.stats = 0, Stats{}
			_, err := v.Stats()
			return err
		},
		"since": func() error { _, err := v.Entries(s.LeafID()); return err },
		"count": func() error {
			_, err := v.MessageCount()
			return err
		},
		"fork": func() error {
			_, f, err := s.Fork(middle)
			if err == nil {
				f.cfg.Durability = DurabilityNone
				f.Close()
				os.Remove(f.Path())
			}
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkList10k(b *testing.B) {
	dir := b.TempDir()
	for i := range 10_000 {
		cfg := testConfig(dir)
		cfg.ID = fmt.Sprintf("s%05d", i)
		cfg.Durability = DurabilityNone
		ms := int64(1_700_000_000_000 + i*1000)
		cfg.Now = func() time.Time { return time.UnixMilli(ms) }
		s, err := Create(cfg)
		if err != nil {
			b.Fatal(err)
		}
		add(b, s, user("hello"))
		add(b, s, assistant("hi"))
		s.Close()
	}
	for b.Loop() {
		if got := List(Folder{Path: dir}); len(got) != 10_000 {
			b.Fatal(len(got))
		}
	}
}
