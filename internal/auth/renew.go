package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonc"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

const (
	minValidity = 5 * time.Minute  // a login that ends sooner is renewed
	renewTime   = 15 * time.Second // for the request of a renewal
	patience    = 3 * time.Second  // of a request whose login is still good
)

// errUnsaved is the diagnostic of a login that was renewed and could not be stored.
const errUnsaved = "The renewed login of %s could not be stored (%s). It works until this program ends; log in again after that."

var (
	errNoFlow = errors.New("there is no way to renew logins of this provider")
	errGone   = errors.New("the login was removed")
)

// renewal is a login that is being renewed. done closes when login or err is set.
type renewal struct {
	done  chan struct{}
	login Login
	err   error
}

// unsaved is a renewed login that could not be stored: it stands for the entry that it
// was made from.
type unsaved struct {
	login Login
	from  jsonx.Raw
}

// flow returns the provider's flow, nil for none.
func (k *Keys) flow(provider string) Flow {
	for _, f := range k.flows() {
		if f.Info().ID == provider {
			return f
		}
	}
	return nil
}

// current returns an entry's login, or the newer one that could not be stored.
func (k *Keys) current(provider string, e entry, file string) Login {
	k.mu.Lock()
	defer k.mu.Unlock()
	if u, ok := k.unsaved[provider]; ok {
		if bytes.Equal(u.from, e.raw) {
			return u.login
		}
		delete(k.unsaved, provider) // somebody stored another one
	}
	return e.login(file)
}

// fresh returns the login, renewed when it has expired or will soon. One renewal runs
// for all callers, and goes on when they give up: the server may have taken the old
// token out of use already. A login that is still good is used when its renewal fails
// or takes long.
func (k *Keys) fresh(ctx context.Context, provider string, login Login) (Login, error) {
	now := k.opt.Now()
	if login.Access != "" && !login.expired(now.Add(minValidity)) {
		return login, nil
	}
	good := login.Access != "" && !login.expired(now)
	r := k.renewal(ctx, provider, login)
	var enough <-chan time.Time
	if good {
		t := time.NewTimer(patience)
		defer t.Stop()
		enough = t.C
	}
	select {
	case <-r.done:
	case <-enough:
		return login, nil
	case <-ctx.Done():
		return Login{}, context.Cause(ctx)
	}
	switch {
	case r.err == nil && r.login.Access != "":
		return r.login, nil
	case errors.Is(r.err, errGone):
		return Login{}, &Error{Provider: provider, Message: k.MissingKey(provider), Cause: r.err}
	case good:
		return login, nil
	}
	return Login{}, &Error{Provider: provider, Message: fmt.Sprintf(errLogin, provider, k.opt.Program, provider), Cause: r.err}
}

// renewal returns the provider's running renewal, a new one when there is none.
func (k *Keys) renewal(ctx context.Context, provider string, login Login) *renewal {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r, ok := k.renewals[provider]; ok {
		return r
	}
	r := &renewal{done: make(chan struct{})}
	k.renewals[provider] = r
	detached := context.WithoutCancel(ctx)
	k.work.Go(func() {
		limited, cancel := context.WithTimeout(detached, lockLong+renewTime)
		defer cancel()
		renew := k.opt.Refresh
		if renew == nil {
			renew = k.renew
		}
		r.login, r.err = renew(limited, provider, login)
		k.mu.Lock()
		delete(k.renewals, provider)
		k.mu.Unlock()
		close(r.done)
	})
	return r
}

// renew renews a login under the lock of its file and stores it there. Another program
// may have done so in the meantime: the file is read first.
func (k *Keys) renew(ctx context.Context, provider string, login Login) (Login, error) {
	flow := k.flow(provider)
	if flow == nil {
		return Login{}, errNoFlow
	}
	lock, err := acquire(ctx, login.File, lockLong)
	if err != nil {
		return Login{}, err
	}
	defer lock.Release()
	defer k.store.forget()
	data, err := os.ReadFile(login.File)
	if err != nil {
		return Login{}, fmt.Errorf("reading the login: %w", err)
	}
	entries, _, err := parse(login.File, data)
	if err != nil {
		return Login{}, fmt.Errorf("reading the login: %w", err)
	}
	e, ok := entries[provider]
	if !ok || e.Type != typeOAuth {
		return Login{}, errGone
	}
	login = k.current(provider, e, login.File)
	if login.Access != "" && !login.expired(k.opt.Now().Add(minValidity)) {
		return login, nil
	}
	limited, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	renewed, err := flow.Renew(limited, login)
	if err != nil {
		return Login{}, err
	}
	if renewed.Raw, err = merged(login.Raw, renewed.Raw); err != nil {
		return Login{}, err
	}
	renewed.File = login.File
	err = editLocked(login.File, func(src []byte) ([]byte, error) { return jsonc.Set(src, renewed.Raw, provider) })
	k.remember(provider, e.raw, renewed, err)
	return renewed, nil
}

// remember keeps a renewed login that could not be stored; err is nil for one that was.
func (k *Keys) remember(provider string, from jsonx.Raw, l Login, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		delete(k.unsaved, provider)
		return
	}
	k.unsaved[provider] = unsaved{l, from}
	k.troubles = append(k.troubles, fmt.Sprintf(errUnsaved, provider, reason(err)))
}

// merged returns an entry with the members of another put over its own: what other
// programs keep beside the tokens stays.
func merged(old, over jsonx.Raw) (jsonx.Raw, error) {
	var o jsonx.Object
	if err := o.Merge(old); err != nil {
		return nil, errors.New("the login's entry is no object")
	}
	if err := o.Merge(over); err != nil {
		return nil, errors.New("the renewed login is no object")
	}
	raw, err := jsonx.Marshal(&o)
	if err != nil {
		return nil, errors.New("the renewed login could not be encoded")
	}
	return raw, nil
}
