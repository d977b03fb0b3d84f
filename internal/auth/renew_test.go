package auth

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// expired is an entry whose refresh token the server knows.
const expired = `{"type":"oauth","refresh":"refresh-0","access":"access-0","expires":1000,"keep":{"me":[1,2]}}`

// stale returns Keys with an expired login of Anthropic in the layer below.
func (a *authority) stale(t testing.TB) *Keys {
	t.Helper()
	a.refresh["refresh-0"] = true
	return a.accounts(t, setup{below: "{\n  // mine\n  \"anthropic\": " + expired + ",\n  \"other\": {\"type\": \"api_key\", \"key\": \"o\"}\n}\n"})
}

func TestRenewInTheFileItCameFrom(t *testing.T) {
	a := newAuthority(t)
	k := a.stale(t)
	c, err := k.Provider(t.Context(), "anthropic")
	if err != nil || c.APIKey != "access-1" {
		t.Fatalf("%+v, %v", c, err)
	}
	e, file, _ := k.store.entry("anthropic")
	if file != k.store.layers[1].path || k.content(t, 0) != "" {
		t.Errorf("stored in %s", file)
	}
	want := map[string]any{
		"type": "oauth", "refresh": "refresh-1", "access": "access-1", "expires": millis(55 * time.Minute), "keep": map[string]any{"me": []any{1.0, 2.0}},
	}
	if diff := cmp.Diff(want, entryOf(t, e.raw)); diff != "" {
		t.Error(diff)
	}
	text := k.content(t, 1)
	if !strings.HasPrefix(text, "{\n  // mine\n") || !strings.HasSuffix(text, "  \"other\": {\"type\": \"api_key\", \"key\": \"o\"}\n}\n") {
		t.Errorf("the rest of the file changed:\n%s", text)
	}
	if _, err := k.Provider(t.Context(), "anthropic"); err != nil || len(a.seen()) != 1 {
		t.Errorf("renewed again: %v, %v", a.seen(), err)
	}
	if left, _ := filepath.Glob(file + "*"); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// A login is renewed five minutes before its end, once for all who need it.
func TestRenewedOnceAndInTime(t *testing.T) {
	for _, tt := range []struct {
		left    time.Duration
		renewed bool
	}{{6 * time.Minute, false}, {5*time.Minute + time.Second, false}, {5 * time.Minute, true}, {0, true}, {-time.Hour, true}} {
		a := newAuthority(t)
		a.refresh["refresh-0"] = true
		k := a.accounts(t, setup{own: fmt.Sprintf(`{"anthropic":{"type":"oauth","refresh":"refresh-0","access":"access-0","expires":%d}}`, start.Add(tt.left).UnixMilli())})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				c, err := k.Provider(t.Context(), "anthropic")
				if err != nil || (c.APIKey == "access-1") != tt.renewed {
					t.Errorf("%s left: %+v, %v", tt.left, c, err)
				}
			})
		}
		wg.Wait()
		if n := len(a.seen()); n != map[bool]int{true: 1, false: 0}[tt.renewed] {
			t.Errorf("%s left: %d requests", tt.left, n)
		}
	}
}

// Two programs find the same expired login: the refresh token is good once, so the
// second must take what the first stored.
func TestTwoProgramsRenewOnce(t *testing.T) {
	a := newAuthority(t)
	k := a.stale(t)
	other := New(k.opt)
	var wg sync.WaitGroup
	for _, keys := range []*Keys{k, other, New(k.opt)} {
		wg.Go(func() {
			if c, err := keys.Provider(t.Context(), "anthropic"); err != nil || c.APIKey != "access-1" {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff([]string{"POST /token"}, a.seen()); diff != "" {
		t.Error(diff)
	}
}

// While the lock is awaited, another program renews the login, or removes it.
func TestWhatOthersDidMeanwhileCounts(t *testing.T) {
	for name, tt := range map[string]struct{ after, key, err string }{
		"renewed":         {`{"anthropic":{"type":"oauth","refresh":"r9","access":"theirs","expires":9999999999999}}`, "theirs", ""},
		"removed":         {`{}`, "", "No API key found for anthropic.\n\nSet ANTHROPIC_API_KEY, or run: isotope auth login anthropic"},
		"replaced by key": {`{"anthropic":{"type":"api_key","key":"k"}}`, "", "No API key found for anthropic.\n\nSet ANTHROPIC_API_KEY, or run: isotope auth login anthropic"},
		"broken": {
			`{"anthropic":`, "",
			`Authentication failed for "anthropic". Credentials may have expired or network is unavailable. Run 'isotope auth login anthropic' to re-authenticate.`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAuthority(t)
			k := a.stale(t)
			file := k.store.layers[1].path
			if err := os.Mkdir(file+".lock", 0o700); err != nil { // the other program has the lock
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				c, err := k.Provider(t.Context(), "anthropic")
				got := ""
				if err != nil {
					got = err.Error()
				}
				if c.APIKey != tt.key || got != tt.err {
					t.Errorf("%+v, %q", c, got)
				}
			})
			time.Sleep(60 * time.Millisecond)
			if err := os.WriteFile(file, []byte(tt.after), 0o600); err != nil {
				t.Error(err)
			}
			if err := os.Remove(file + ".lock"); err != nil {
				t.Error(err)
			}
			wg.Wait()
			if n := len(a.seen()); n != 0 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// The other programs lock the file that a link points to.
func TestLockOfALink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	a := newAuthority(t)
	k := a.stale(t)
	file := k.store.layers[1].path
	real := filepath.Join(t.TempDir(), "real.json")
	if err := os.Rename(file, real); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, file); err != nil {
		t.Fatal(err)
	}
	locked := false
	a.answer["/token"] = func() (int, string) {
		_, err := os.Stat(real + ".lock")
		locked = err == nil
		return 200, `{"access_token":"new","refresh_token":"r","expires_in":3600}`
	}
	if c, err := k.Provider(t.Context(), "anthropic"); c.APIKey != "new" || err != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if !locked {
		t.Error("the lock is not beside the real file")
	}
	if info, err := os.Lstat(file); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	if data, _ := os.ReadFile(real); !strings.Contains(string(data), `"new"`) {
		t.Errorf("%s", data)
	}
}

// A caller that gives up gets its answer at once; the renewal goes on and is stored.
func TestRenewalOutlivesItsCaller(t *testing.T) {
	a := newAuthority(t)
	k := a.stale(t)
	arrived, goOn := make(chan struct{}), make(chan struct{})
	a.answer["/token"] = func() (int, string) {
		close(arrived)
		<-goOn
		return 200, `{"access_token":"new","refresh_token":"r","expires_in":3600}`
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the run was aborted")
	go func() { <-arrived; cancel(gone) }()
	if _, err := k.Provider(ctx, "anthropic"); !errors.Is(err, gone) {
		t.Error(err)
	}
	close(goOn)
	if err := k.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c, err := New(k.opt).Provider(t.Context(), "anthropic"); c.APIKey != "new" || err != nil {
		t.Errorf("%+v, %v: what the server gave is lost", c, err)
	}
}

func TestFailedRenewal(t *testing.T) {
	const text = `Authentication failed for "anthropic". Credentials may have expired or network is unavailable. Run 'isotope auth login anthropic' to re-authenticate.`
	for name, tt := range map[string]struct {
		status int
		body   string
		cause  string
	}{
		"revoked": {400, `{"error":"invalid_grant","error_description":"refresh-0 was revoked"}`, "Anthropic: token refresh failed (HTTP 400): invalid_grant: … was revoked"},
		"down":    {503, `busy`, "Anthropic: token refresh failed (HTTP 503)"},
		"odd":     {200, `{"access_token":""}`, "Anthropic: token refresh: the answer holds no usable token"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAuthority(t)
			k := a.stale(t)
			before := k.content(t, 1)
			a.answer["/token"] = func() (int, string) { return tt.status, tt.body }
			_, err := k.Provider(t.Context(), "anthropic")
			var e *Error
			if !errors.As(err, &e) || e.Message != text || e.Cause == nil || e.Cause.Error() != tt.cause {
				t.Errorf("%v; %v", err, errors.Unwrap(err))
			}
			if k.content(t, 1) != before {
				t.Error("the stored login was changed")
			}
		})
	}
	k := setup{own: `{"radius":{"type":"oauth","refresh":"r","access":"a","expires":1}}`}.keys(t)
	_, err := k.Provider(t.Context(), "radius")
	if !errors.Is(err, errNoFlow) {
		t.Errorf("a provider without a flow: %v", errors.Unwrap(err))
	}
}

// A login that is good for some more minutes is used when its renewal fails.
func TestGoodLoginSurvivesAFailedRenewal(t *testing.T) {
	a := newAuthority(t)
	k := a.accounts(t, setup{own: fmt.Sprintf(`{"anthropic":{"type":"oauth","refresh":"unknown","access":"good","expires":%d}}`, start.Add(time.Minute).UnixMilli())})
	for range 2 {
		if c, err := k.Provider(t.Context(), "anthropic"); c.APIKey != "good" || err != nil {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if n := len(a.seen()); n != 2 {
		t.Errorf("%d tries", n)
	}
}

// Field report 135: a renewal that stalls holds up neither other providers nor, for more
// than a moment, requests whose login is still good.
func TestFieldReport135StalledRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ms := func(d time.Duration) int64 { return began.Add(d).UnixMilli() }
		k := setup{
			own: fmt.Sprintf(`{"soon":{"type":"oauth","access":"good","refresh":"r","expires":%d},"over":{"type":"oauth","access":"a","refresh":"r","expires":%d},"key":{"type":"api_key","key":"k"}}`,
				ms(time.Minute), ms(-time.Minute)),
			refresh: func(ctx context.Context, _ string, _ Login) (Login, error) {
				<-ctx.Done()
				return Login{}, ctx.Err()
			},
			now: began,
		}.keys(t)
		if c, err := k.Provider(t.Context(), "soon"); c.APIKey != "good" || err != nil || time.Since(began) != patience {
			t.Errorf("%+v, %v after %s", c, err, time.Since(began))
		}
		began = time.Now()
		if c, err := k.Provider(t.Context(), "key"); c.APIKey != "k" || err != nil || time.Since(began) != 0 {
			t.Errorf("%+v, %v after %s", c, err, time.Since(began))
		}
		_, err := k.Provider(t.Context(), "over")
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Message, `Authentication failed for "over".`) || time.Since(began) != lockLong+renewTime {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if err := k.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// When the renewed login cannot be stored, this program goes on with it and says so.
func TestRenewedLoginThatCannotBeStored(t *testing.T) {
	a := newAuthority(t)
	k := a.stale(t)
	file := k.store.layers[1].path
	before := k.content(t, 1)
	a.answer["/token"] = func() (int, string) {
		os.WriteFile(file, []byte(`{"anthropic": oops`), 0o600) // somebody edits it by hand just now
		return 200, `{"access_token":"new-secret","refresh_token":"r","expires_in":3600}`
	}
	for range 2 {
		if c, err := k.Provider(t.Context(), "anthropic"); c.APIKey != "new-secret" || err != nil {
			t.Fatalf("%+v, %v", c, err)
		}
	}
	if n := len(a.seen()); n != 1 {
		t.Errorf("%d requests", n)
	}
	said := strings.Join(k.Diagnostics(), "\n")
	if !strings.Contains(said, "The renewed login of anthropic could not be stored") || strings.Contains(said, "secret") {
		t.Error(said)
	}
	if k.content(t, 1) != `{"anthropic": oops` {
		t.Error("a broken file was changed")
	}
	// Put right with another login, the file counts again.
	if err := os.WriteFile(file, []byte(`{"anthropic":{"type":"oauth","refresh":"x","access":"theirs","expires":9999999999999}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := k.Provider(t.Context(), "anthropic"); c.APIKey != "theirs" || err != nil || before == "" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestMerged(t *testing.T) {
	got, err := merged(jsonx.Raw(`{"type":"oauth","a":1,"b":2}`), jsonx.Raw(`{"b":3,"c":4}`))
	if err != nil || string(got) != `{"type":"oauth","a":1,"b":3,"c":4}` {
		t.Errorf("%s, %v", got, err)
	}
	for _, pair := range [][2]string{{`[1]`, `{}`}, {`{}`, `"secret"`}} {
		if _, err := merged(jsonx.Raw(pair[0]), jsonx.Raw(pair[1])); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: %v", pair, err)
		}
	}
}

// Field report 135: twenty programs start on one folder at once; some find an expired
// login, all get a key, and none sees a lock's error.
func TestFieldReport135ParallelStarts(t *testing.T) {
	a := newAuthority(t)
	first := a.stale(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			k := New(first.opt)
			if i%5 == 0 {
				if err := k.SaveKey(t.Context(), fmt.Sprintf("p%d", i), "k"); err != nil {
					t.Error(err)
				}
			}
			if c, err := k.Provider(t.Context(), "anthropic"); c.APIKey != "access-1" || err != nil {
				t.Errorf("%+v, %v", c, err)
			}
			if c, err := k.Provider(t.Context(), "other"); c.APIKey != "o" || err != nil {
				t.Errorf("%+v, %v", c, err)
			}
			if d := k.Diagnostics(); len(d) != 0 {
				t.Error(d)
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff([]string{"POST /token"}, a.seen()); diff != "" {
		t.Error(diff)
	}
}
