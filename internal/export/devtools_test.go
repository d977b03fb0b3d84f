package export

import (
	"bufio"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// A browser is a headless Chromium that is driven through pipes: commands and events are
// JSON, ended by a NUL (--remote-debugging-pipe), so no module and no port is needed.
type browser struct {
	cmd  *exec.Cmd
	to   *os.File
	done chan struct{} // closed when the reader has ended

	mu      sync.Mutex // guards the rest
	next    int
	waiting map[int]chan reply
	tabs    map[string]*tab // by session
}

type reply struct {
	ID     int       `json:"id"`
	Result jsonx.Raw `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
	Method    string    `json:"method"`
	Params    jsonx.Raw `json:"params"`
	SessionID string    `json:"sessionId"`
}

// tab is one page of the browser.
type tab struct {
	t       testing.TB
	b       *browser
	session string

	mu       sync.Mutex // guards the rest
	faults   []string   // console errors, exceptions, log entries of level error
	requests []string   // addresses that the page asked for
	loaded   chan struct{}
}

// findChromium returns the browser's program, "" when there is none.
func findChromium() string {
	if path := os.Getenv("ISOTOPE_TEST_CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// patience is what a machine that stands still may take for one step.
const patience = 2 * time.Minute

// startBrowser returns the browser that all tests share: starting one costs more than
// most of them. Where there is none, or it does not start, the test is skipped.
func startBrowser(t testing.TB) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	if raceEnabled {
		t.Skip("what runs in a browser is not seen by the race detector")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the browser is driven through inherited pipes")
	}
	b, err := theBrowser()
	if err != nil {
		t.Skip(err)
	}
	return b
}

// TestMain ends the browser that the tests have started, and takes its profile away.
func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "isotope-export-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	profile = dir
	code := m.Run()
	if started {
		if b, err := theBrowser(); err == nil {
			b.end()
		}
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var (
	profile string // the browser's --user-data-dir, set before the tests run
	started bool   // a test has asked for the browser
)

var theBrowser = sync.OnceValues(func() (*browser, error) {
	started = true
	program := findChromium()
	if program == "" {
		return nil, errors.New("no Chromium here (set ISOTOPE_TEST_CHROMIUM to its path): the page is not tried in a browser")
	}
	b, err := launch(program)
	if err != nil {
		return nil, fmt.Errorf("%s does not start, the page is not tried in a browser: %w", program, err)
	}
	if _, err := b.call("", "Browser.getVersion", nil); err != nil {
		b.end()
		return nil, fmt.Errorf("%s does not answer, the page is not tried in a browser: %w", program, err)
	}
	return b, nil
})

func launch(program string) (*browser, error) {
	fromUs, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, toUs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars",
		"--disable-dev-shm-usage", "--font-render-hinting=none",
		"--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4", // as with a mouse
		"--force-color-profile=srgb", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{fromUs, toUs}
	err = cmd.Start()
	fromUs.Close()
	toUs.Close()
	if err != nil {
		to.Close()
		from.Close()
		return nil, err
	}
	b := &browser{cmd: cmd, to: to, done: make(chan struct{}), waiting: map[int]chan reply{}, tabs: map[string]*tab{}}
	go b.read(from)
	return b, nil
}

// end closes the browser and waits for its end.
func (b *browser) end() {
	_, _ = b.call("", "Browser.close", nil)
	timer := time.AfterFunc(10*time.Second, func() { _ = b.cmd.Process.Kill() })
	_ = b.cmd.Wait()
	timer.Stop()
	b.to.Close()
	<-b.done
}

func (b *browser) read(from *os.File) {
	defer close(b.done)
	defer from.Close()
	in := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := in.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			for _, ch := range b.waiting {
				close(ch)
			}
			b.waiting = nil
			b.mu.Unlock()
			return
		}
		var r reply
		if jsonx.Unmarshal(line[:len(line)-1], &r) != nil {
			continue
		}
		b.mu.Lock()
		ch, tb := b.waiting[r.ID], b.tabs[r.SessionID]
		if r.ID != 0 {
			delete(b.waiting, r.ID)
		}
		b.mu.Unlock()
		switch {
		case r.ID != 0 && ch != nil:
			ch <- r
		case r.Method != "" && tb != nil:
			tb.event(r)
		}
	}
}

// call sends a command and returns its result.
func (b *browser) call(session, method string, params any) (jsonx.Raw, error) {
	if params == nil {
		params = struct{}{}
	}
	ch := make(chan reply, 1)
	b.mu.Lock()
	if b.waiting == nil {
		b.mu.Unlock()
		return nil, errors.New("the browser has ended")
	}
	b.next++
	id := b.next
	b.waiting[id] = ch
	line, err := jsonx.Marshal(struct {
		ID        int    `json:"id"`
		Method    string `json:"method"`
		Params    any    `json:"params"`
		SessionID string `json:"sessionId,omitzero"`
	}{id, method, params, session})
	if err == nil {
		_, err = b.to.Write(append(line, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case r, ok := <-ch:
		switch {
		case !ok:
			return nil, errors.New("the browser has ended")
		case r.Error != nil:
			return nil, fmt.Errorf("%s: %s", method, r.Error.Message)
		}
		return r.Result, nil
	case <-time.After(patience):
		return nil, fmt.Errorf("%s: no answer", method)
	}
}

type view struct {
	width, height int
	dark          bool
	scale         float64
}

// open opens a file in a new tab and waits until it has loaded.
func (b *browser) open(t testing.TB, path, suffix string, v view) *tab {
	t.Helper()
	if v.width == 0 {
		v.width, v.height = 1280, 860
	}
	if v.scale == 0 {
		v.scale = 1
	}
	var created struct {
		TargetID string `json:"targetId"`
	}
	must(t, &created)(b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}))
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	must(t, &attached)(b.call("", "Target.attachToTarget", map[string]any{"targetId": created.TargetID, "flatten": true}))
	tb := &tab{t: t, b: b, session: attached.SessionID, loaded: make(chan struct{}, 8)}
	b.mu.Lock()
	b.tabs[tb.session] = tb
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		tb.call(domain+".enable", nil)
	}
	theme := "light"
	if v.dark {
		theme = "dark"
	}
	tb.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": theme}, {"name": "prefers-reduced-motion", "value": "reduce"}}})
	tb.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": v.width, "height": v.height, "deviceScaleFactor": v.scale, "mobile": false})
	tb.call("Emulation.setTimezoneOverride", map[string]any{"timezoneId": "UTC"})
	tb.call("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true})
	t.Cleanup(func() { _, _ = b.call("", "Target.closeTarget", map[string]any{"targetId": created.TargetID}) })
	tb.navigate(fileURL(path) + suffix)
	return tb
}

func (tb *tab) navigate(address string) {
	tb.t.Helper()
	tb.call("Page.navigate", map[string]any{"url": address})
	select {
	case <-tb.loaded:
	case <-time.After(patience):
		tb.t.Fatal("the page did not load")
	}
}

func fileURL(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

func must(t testing.TB, out any) func(jsonx.Raw, error) {
	return func(raw jsonx.Raw, err error) {
		t.Helper()
		if err == nil {
			err = jsonx.Unmarshal(raw, out)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (tb *tab) call(method string, params any) jsonx.Raw {
	tb.t.Helper()
	raw, err := tb.b.call(tb.session, method, params)
	if err != nil {
		tb.t.Fatal(err)
	}
	return raw
}

// event notes what must not happen, and what is waited for.
func (tb *tab) event(r reply) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	switch r.Method {
	case "Page.loadEventFired":
		tb.loaded <- struct{}{}
	case "Runtime.exceptionThrown":
		tb.faults = append(tb.faults, string(r.Params))
	case "Runtime.consoleAPICalled":
		if kind := string(member(r.Params, "type")); kind == `"error"` || kind == `"warning"` || kind == `"assert"` {
			tb.faults = append(tb.faults, string(r.Params))
		}
	case "Log.entryAdded":
		if level := plain(member(member(r.Params, "entry"), "level")); level == "error" || level == "warning" {
			tb.faults = append(tb.faults, string(r.Params))
		}
	case "Network.requestWillBeSent":
		tb.requests = append(tb.requests, plain(member(member(r.Params, "request"), "url")))
	}
}

// eval evaluates an expression in the page, waits for a promise, and decodes the value.
func eval[T any](tb *tab, expression string) T {
	tb.t.Helper()
	var r struct {
		Result struct {
			Value jsonx.Raw `json:"value"`
		} `json:"result"`
		ExceptionDetails jsonx.Raw `json:"exceptionDetails"`
	}
	must(tb.t, &r)(tb.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true}), nil)
	if len(r.ExceptionDetails) > 0 {
		tb.t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	var out T
	if len(r.Result.Value) > 0 {
		if err := jsonx.Unmarshal(r.Result.Value, &out); err != nil {
			tb.t.Fatalf("%s: %v", expression, err)
		}
	}
	return out
}

// wait waits until an expression is true.
func (tb *tab) wait(expression string) {
	tb.t.Helper()
	for deadline := time.Now().Add(patience); !eval[bool](tb, "!!("+expression+")"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.t.Fatalf("never true: %s", expression)
		}
	}
}

// press presses a key as a keyboard does.
func (tb *tab) press(keys ...string) {
	tb.t.Helper()
	for _, key := range keys {
		params := map[string]any{"type": "keyDown", "key": key, "code": key}
		switch code := map[string]int{"Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}[key]; {
		case code != 0:
			params["windowsVirtualKeyCode"] = code
			if key == "Enter" {
				params["text"] = "\r"
			}
		case len(key) == 1:
			params["text"] = key
		}
		tb.call("Input.dispatchKeyEvent", params)
		tb.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key})
	}
}

// calm fails when the page complained or asked for anything but itself.
func (tb *tab) calm() {
	tb.t.Helper()
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, f := range tb.faults {
		tb.t.Errorf("the page complains: %s", f[:min(len(f), 800)])
	}
	for _, r := range tb.requests {
		if !strings.HasPrefix(r, "file:///") && !strings.HasPrefix(r, "data:image/") {
			tb.t.Errorf("the page asked for %s", r)
		}
	}
	if files := slices.DeleteFunc(slices.Clone(tb.requests), func(r string) bool { return !strings.HasPrefix(r, "file:") }); len(files) > 1 {
		for _, f := range files[1:] {
			if base, _, _ := strings.Cut(f, "#"); !strings.HasPrefix(files[0], base) {
				tb.t.Errorf("the page asked for %s", f)
			}
		}
	}
}

// screenshot returns the visible part of the page as PNG.
func (tb *tab) screenshot() []byte {
	tb.t.Helper()
	var shot struct {
		Data string `json:"data"`
	}
	must(tb.t, &shot)(tb.call("Page.captureScreenshot", map[string]any{"format": "png"}), nil)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		tb.t.Fatal(err)
	}
	return png
}
