package auth

import (
	"context"
	"errors"
	"net/url"
	"strings"
)

// The methods of notices and questions, as RPC clients know them (atomic-facts.md 3.4).
const (
	MethodAuth       = "oauth_auth"
	MethodDevice     = "oauth_device_code"
	MethodProgress   = "oauth_progress"
	MethodInfo       = "oauth_info"
	MethodPrompt     = "oauth_prompt"
	MethodSelect     = "oauth_select"
	MethodCode       = "oauth_manual_code"
	MethodCodeCancel = "oauth_manual_code_cancel"
)

// ErrCancelled is the error of a login that the person, or the caller, gave up.
var ErrCancelled = errors.New("Login cancelled")

// UI is how a login talks to a person. Keys calls it from several goroutines.
type UI interface {
	// Notify shows something and does not wait for the person.
	Notify(Notice)
	// Ask puts a question and waits. It returns ErrCancelled when the person gives up,
	// and must return soon after ctx ends: the question is then withdrawn, for instance
	// because the browser gave the answer (RPC: MethodCodeCancel).
	Ask(ctx context.Context, q Question) (string, error)
}

// AuthURL is a page that the person must open.
type AuthURL struct {
	URL          string `json:"url"`
	Instructions string `json:"instructions,omitzero"`
}

// DeviceCode is a code that the person must enter on a page. Times are seconds.
type DeviceCode struct {
	UserCode         string  `json:"userCode"`
	VerificationURI  string  `json:"verificationUri"`
	IntervalSeconds  float64 `json:"intervalSeconds,omitzero"`
	ExpiresInSeconds float64 `json:"expiresInSeconds,omitzero"`
}

// Link is a page to read.
type Link struct {
	Label string `json:"label,omitzero"`
	URL   string `json:"url"`
}

// Notice is something to show. Auth is set for MethodAuth, Device for MethodDevice,
// Message for the other methods, Links for MethodInfo.
type Notice struct {
	Method  string
	Auth    *AuthURL
	Device  *DeviceCode
	Message string
	Links   []Link
}

// Option is one answer of a MethodSelect question: ID is answered, Label shown.
type Option struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// Prompt is the text of a question.
type Prompt struct {
	Message     string   `json:"message"`
	Placeholder string   `json:"placeholder,omitzero"`
	Options     []Option `json:"options,omitzero"`
}

// Question is something to ask. Secret answers must not be shown while they are typed.
type Question struct {
	Method string // MethodPrompt, MethodSelect or MethodCode
	Prompt Prompt
	Secret bool
}

// Cancelled is what a question amounts to when an RPC client cancels it: an empty text,
// or ErrCancelled for a choice (atomic-facts.md 3.4).
func (q Question) Cancelled() (string, error) {
	if q.Method == MethodSelect {
		return "", ErrCancelled
	}
	return "", nil
}

// Record is a notice or a question as an extension_ui_request of RPC mode. The answer
// to one of a question is an extension_ui_response with the same id.
type Record struct {
	Type     string  `json:"type"`
	ID       string  `json:"id"`
	Method   string  `json:"method"`
	Provider string  `json:"provider"`
	LoginID  string  `json:"loginId"`
	Info     any     `json:"info,omitzero"`
	Prompt   *Prompt `json:"prompt,omitzero"`
	Message  string  `json:"message,omitzero"`
	Links    []Link  `json:"links,omitzero"`
}

func newRecord(id, method, provider, loginID string) Record {
	return Record{Type: "extension_ui_request", ID: id, Method: method, Provider: provider, LoginID: loginID}
}

// Record returns the notice for an RPC client. id is a fresh one.
func (n Notice) Record(id, provider, loginID string) Record {
	r := newRecord(id, n.Method, provider, loginID)
	switch n.Method {
	case MethodAuth:
		r.Info = n.Auth
	case MethodDevice:
		r.Info = n.Device
	case MethodInfo:
		r.Message, r.Links = n.Message, append([]Link{}, n.Links...)
	default:
		r.Message = n.Message
	}
	return r
}

// Record returns the question for an RPC client. id is a fresh one.
func (q Question) Record(id, provider, loginID string) Record {
	r := newRecord(id, q.Method, provider, loginID)
	if q.Method != MethodCode {
		r.Prompt = &q.Prompt
	}
	return r
}

// WithdrawCode returns the record that withdraws a MethodCode question.
func WithdrawCode(id, provider, loginID string) Record {
	return newRecord(id, MethodCodeCancel, provider, loginID)
}

func progress(ui UI, message string) { ui.Notify(Notice{Method: MethodProgress, Message: message}) }

func openPage(ui UI, page, instructions string) {
	ui.Notify(Notice{Method: MethodAuth, Auth: &AuthURL{page, instructions}})
}

// choose asks for one of the options and returns its id.
func choose(ctx context.Context, ui UI, message string, options ...Option) (string, error) {
	return ui.Ask(ctx, Question{Method: MethodSelect, Prompt: Prompt{Message: message, Options: options}})
}

func askText(ctx context.Context, ui UI, message, placeholder string) (string, error) {
	answer, err := ui.Ask(ctx, Question{Method: MethodPrompt, Prompt: Prompt{Message: message, Placeholder: placeholder}})
	return strings.TrimSpace(answer), err
}

// webPage returns a URL that a server sent when a browser may open it: a hostile answer
// must not make the system start another program.
func webPage(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", false
	}
	return u.String(), true
}
