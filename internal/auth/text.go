package auth

import (
	"fmt"
	"strings"
)

// Texts that clients see. None of them shows a secret.
const (
	errNoKey      = "No API key found for %s.\n\n%s"
	adviceEnv     = "Set %s, or run: %s auth login %s"
	adviceConfig  = "Set %s, which models.json names as its API key."
	adviceUnknown = "Add \"apiKey\" for it to models.json, or run: %s auth login %s"
	errLogin      = "Authentication failed for %q. Credentials may have expired or network is unavailable. Run '%s auth login %s' to re-authenticate."
	errValue      = "Failed to resolve %s of provider %q: %s"
	errAuthHeader = "Provider %q: authHeader requires an API key."
	// ErrInlineKey is the start-up error of --api-key when no model is known.
	ErrInlineKey = "--api-key requires a model to be specified via --model, --provider/--model, or --models"
)

// Error says why there is no credential. Message is what clients see.
type Error struct {
	Provider string
	Message  string
	// Cause says more to people who look for the reason; nil for nothing. It shows no
	// secret.
	Cause error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

func valueError(provider, what string, err error) *Error {
	return &Error{Provider: provider, Message: fmt.Sprintf(errValue, what, provider, err)}
}

// MissingKey is the text for a provider without a key: it names the variable to set
// and the command to run.
func (k *Keys) MissingKey(provider string) string {
	advice := ""
	apiKey, _, _ := k.opt.Config(provider, "")
	if missing := missingVariables(apiKey, k.opt.Env); len(missing) > 0 {
		advice = fmt.Sprintf(adviceConfig, strings.Join(missing, ", "))
	} else if name := adviceVariable(provider); name != "" {
		advice = fmt.Sprintf(adviceEnv, name, k.opt.Program, provider)
	} else {
		advice = fmt.Sprintf(adviceUnknown, k.opt.Program, provider)
	}
	return fmt.Sprintf(errNoKey, provider, advice)
}
