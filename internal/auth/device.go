package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Numbers of RFC 8628 and of its users.
const (
	defaultInterval = 5 * time.Second // when the server says none
	minInterval     = time.Second
	slowDown        = 5 * time.Second // is added to the interval
	defaultLife     = 15 * time.Minute
	maxFaults       = 5 // requests in a row that may get no answer
	grantDevice     = "urn:ietf:params:oauth:grant-type:device_code"
)

// Texts about device logins.
const (
	errDeviceTime    = "%s: the code expired before it was entered. Start the login again"
	errDeviceSlow    = "%s: the code expired, and the server asked to poll more slowly: check this machine's clock, then start the login again"
	errDeviceDenied  = "%s: the login was denied"
	errDeviceExpired = "%s: the code has expired. Start the login again"
)

// grant is a device login that has begun. URI is safe to open.
type grant struct {
	code     string
	userCode string
	uri      string
	interval time.Duration
	life     time.Duration
}

// show tells the person what to do.
func (g grant) show(ui UI) {
	ui.Notify(Notice{Method: MethodDevice, Device: &DeviceCode{
		UserCode: g.userCode, VerificationURI: g.uri, IntervalSeconds: g.interval.Seconds(), ExpiresInSeconds: g.life.Seconds(),
	}})
}

// startDevice asks for a code (RFC 8628 section 3.1). complete prefers the address that
// holds the code already.
func (c *client) startDevice(ctx context.Context, q call, complete bool) (grant, error) {
	r, err := c.do(ctx, q)
	if err != nil {
		return grant{}, err
	}
	var a struct {
		Code     string    `json:"device_code"`
		UserCode string    `json:"user_code"`
		URI      string    `json:"verification_uri"`
		Complete string    `json:"verification_uri_complete"`
		Interval jsonx.Raw `json:"interval"`
		Expires  jsonx.Raw `json:"expires_in"`
	}
	if err := r.into(&a); err != nil {
		return grant{}, err
	}
	if a.Code == "" || a.UserCode == "" || a.URI == "" && a.Complete == "" {
		return grant{}, fmt.Errorf(errAnswer, q.who, q.what, r.status)
	}
	page := a.URI
	if complete || page == "" {
		page = first(a.Complete, a.URI)
	}
	uri, ok := webPage(page)
	if !ok {
		return grant{}, fmt.Errorf(errUnsafe, q.who)
	}
	return grant{a.Code, a.UserCode, uri, span(seconds(a.Interval), defaultInterval), span(seconds(a.Expires), defaultLife)}, nil
}

// span is a number of seconds as a duration, def for none.
func span(n float64, def time.Duration) time.Duration {
	if n <= 0 || n > 1e7 {
		return def
	}
	return time.Duration(n * float64(time.Second))
}

// verdict is what one poll of a device login says.
type verdict struct {
	done bool
	slow bool
	wait time.Duration // the new interval of a slow_down that names one
	err  error         // for good
}

// poll asks until the person has entered the code, the code expires, or ctx ends.
func (c *client) poll(ctx context.Context, who string, g grant, try func() (verdict, error)) error {
	deadline := c.now().Add(g.life)
	interval, slowed, faults := max(g.interval, minInterval), false, 0
	for {
		left := deadline.Sub(c.now())
		if left <= 0 {
			if slowed {
				return fmt.Errorf(errDeviceSlow, who)
			}
			return fmt.Errorf(errDeviceTime, who)
		}
		if err := c.sleep(ctx, min(interval, left)); err != nil {
			return err
		}
		v, err := try()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil: // a network that fails for a moment must not cost the login
			if faults++; faults >= maxFaults {
				return err
			}
			continue
		case v.err != nil || v.done:
			return v.err
		case v.slow:
			slowed = true
			if interval += slowDown; v.wait > 0 {
				interval = max(v.wait, minInterval)
			}
		}
		faults = 0
	}
}

// deviceToken polls a token endpoint (RFC 8628 section 3.4) and returns its answer.
func (c *client) deviceToken(ctx context.Context, g grant, q call) (reply, error) {
	var granted reply
	err := c.poll(ctx, q.who, g, func() (verdict, error) {
		r, err := c.do(ctx, q)
		if err != nil {
			return verdict{}, err
		}
		if granted = r; r.status >= 500 {
			return verdict{}, r.failure()
		}
		return r.verdict(), nil
	})
	return granted, err
}

// verdict reads an answer of a token endpoint. Some servers send errors with status 200.
func (r reply) verdict() verdict {
	f := r.fault()
	switch f.Code {
	case "":
		var t tokens
		if r.ok() && jsonx.Unmarshal(r.body, &t) == nil && t.Access != "" {
			return verdict{done: true}
		}
		if r.ok() {
			return verdict{err: fmt.Errorf(errNoToken, r.who, r.what)}
		}
	case "authorization_pending":
		return verdict{}
	case "slow_down":
		return verdict{slow: true, wait: span(f.Interval, 0)}
	case "access_denied", "authorization_denied":
		return verdict{err: fmt.Errorf(errDeviceDenied, r.who)}
	case "expired_token":
		return verdict{err: fmt.Errorf(errDeviceExpired, r.who)}
	}
	return verdict{err: r.failure()}
}

// deviceForm are the fields of a poll.
func deviceForm(clientID, code string) url.Values {
	return url.Values{"grant_type": {grantDevice}, "client_id": {clientID}, "device_code": {code}}
}

// isCancel reports whether an error is that of a login that was given up.
func isCancel(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, ErrCancelled) || errors.Is(err, context.Canceled)
}
