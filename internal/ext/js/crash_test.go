package js

import (
	"errors"
	"testing"
	"time"
	"unsafe"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// A memory fault on the engine's goroutine, as one in the engine itself would be, ends
// the runtime and nothing else: whoever waits is told, and so is whoever comes later.
func TestMemoryFaultEndsTheRuntimeAlone(t *testing.T) {
	died := make(chan error, 1)
	fault := func(string, jsonx.Raw) (any, error) {
		nowhere := uintptr(0xdead000) // no memory of this process
		return *(*int)(*(*unsafe.Pointer)(unsafe.Pointer(&nowhere))), nil
	}
	modules := map[string]string{"test/main.js": `import "../node/main.js"; import { call } from "../node/bridge.js"; globalThis.fault = () => call("fault", {});`}
	tb := newTestbed(t, Config{Modules: modules, Entry: "test/main.js", Sync: map[string]SyncOp{"fault": fault}, Died: func(err error) { died <- err }})
	if err := tb.load(`globalThis.fault();`); !errors.Is(err, ErrDead) {
		t.Errorf("the script that crashed it: %v", err)
	}
	select {
	case err := <-died:
		if !errors.Is(err, ErrDead) {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("nobody was told")
	}
	if _, err := tb.r.Call(t.Context(), "", "exports", nil); !errors.Is(err, ErrDead) {
		t.Errorf("a later call: %v", err)
	}
}
