package js

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"modernc.org/quickjs"
)

// engine is the JavaScript engine behind the few calls that this package makes.
type engine struct {
	vm      *quickjs.VM
	sources map[string]string // scripts that are about to be run, by name
	entry   quickjs.Value     // globalThis.__dispatch
	bound   bool
}

func newEngine(memory int64) (*engine, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("starting the JavaScript engine: %w", err)
	}
	e := &engine{vm: vm, sources: map[string]string{}}
	vm.SetWTF8(true)
	vm.SetMemoryLimit(uintptr(memory))
	vm.SetModuleLoader(
		func(_ *quickjs.VM, name string) (string, error) {
			src, ok := e.sources[name]
			if !ok {
				return "", fmt.Errorf("Cannot find module '%s'", name)
			}
			return src, nil
		},
		func(_ *quickjs.VM, _, name string) (string, error) { return name, nil },
	)
	return e, nil
}

// host makes f the one native function, __host(op, json) -> json.
func (e *engine) host(f func(op, args string) string) error {
	return e.vm.RegisterHostFunc("__host", func(args []any) (any, error) {
		if len(args) != 2 {
			return nil, errors.New("the host wants two arguments")
		}
		op, _ := args[0].(string)
		text, _ := args[1].(string)
		return f(op, text), nil
	})
}

// compile returns the bytecode of a classic script.
func (e *engine) compile(src string) ([]byte, error) { return e.vm.Compile(src, quickjs.EvalGlobal) }

// runCode runs bytecode that compile made.
func (e *engine) runCode(code []byte) error {
	_, err := e.vm.EvalBytecode(code)
	return err
}

// run runs a script as a module, so that stack traces carry its name.
func (e *engine) run(name, src string) error {
	e.sources[name] = src
	defer delete(e.sources, name)
	load := fmt.Sprintf("globalThis.__failure=undefined;import(%q).catch(e=>{globalThis.__failure=e});0", name)
	if _, err := e.vm.Eval(load, quickjs.EvalGlobal); err != nil {
		return err
	}
	if err := e.drain(); err != nil {
		return err
	}
	_, err := e.vm.Eval("{const e=globalThis.__failure;delete globalThis.__failure;if(e!==undefined)throw e}0", quickjs.EvalGlobal)
	return err
}

// dispatch calls globalThis.__dispatch(kind, id, json). A string that it returns is the
// answer; anything else means that the answer comes later.
func (e *engine) dispatch(kind, id, json string) (answer string, now bool, err error) {
	if !e.bound {
		v, err := e.vm.EvalValue("__dispatch", quickjs.EvalGlobal)
		if err != nil {
			return "", false, err
		}
		e.entry, e.bound = v, true
	}
	v, err := e.entry.Call(quickjs.UndefinedValue, kind, id, json)
	if err != nil {
		return "", false, err
	}
	answer, now = v.(string)
	return answer, now, nil
}

// drain runs the reactions of settled promises until there are none.
func (e *engine) drain() error {
	_, err := e.vm.ExecutePendingJobs()
	return err
}

// limit bounds the running time of each entry from now on.
func (e *engine) limit(d time.Duration) { _ = e.vm.SetEvalTimeout(d) }

// interrupt stops what runs. It may be called from any goroutine.
func (e *engine) interrupt() {
	if e != nil {
		e.vm.Interrupt()
	}
}

func (e *engine) close() {
	if e == nil {
		return
	}
	if e.bound {
		e.entry.Free()
	}
	_ = e.vm.Close()
}

// interrupted reports whether an error is that of a limit or an interrupt.
func interrupted(err error) bool {
	var e *quickjs.Error
	if errors.As(err, &e) {
		return e.Name == "InternalError" && e.Message == "interrupted"
	}
	return err != nil && strings.Contains(err.Error(), "aborted draining")
}
