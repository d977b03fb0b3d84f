package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Texts of logins with a key.
const (
	askKeyOf      = "API key for %s"
	errEmptyKey   = "No API key was given"
	errEmptyField = "%s is needed"
	errKeyLines   = "The API key must be one line without control characters"
	adcPage       = "https://cloud.google.com/docs/authentication/provide-credentials-adc"
	awsPage       = "https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html"
)

// keyEntry is an api_key entry of auth.json.
type keyEntry struct {
	Type string            `json:"type"`
	Key  string            `json:"key,omitzero"`
	Env  map[string]string `json:"env,omitzero"`
}

// askKey asks for what a provider's requests need and returns the entry for auth.json.
// A key may be "$NAME" or "!command", as in models.json.
func askKey(ctx context.Context, ui UI, provider string) (jsonx.Raw, error) {
	e := keyEntry{Type: typeKey}
	var err error
	switch provider {
	case "google-vertex":
		err = e.vertex(ctx, ui)
	case "amazon-bedrock":
		err = e.bedrock(ctx, ui)
	case "cloudflare-workers-ai":
		err = e.fields(ctx, ui, provider, "CLOUDFLARE_ACCOUNT_ID", "Cloudflare account ID")
	case "cloudflare-ai-gateway":
		err = e.fields(ctx, ui, provider, "CLOUDFLARE_ACCOUNT_ID", "Cloudflare account ID", "CLOUDFLARE_GATEWAY_ID", "Cloudflare AI Gateway ID")
	default:
		err = e.secret(ctx, ui, fmt.Sprintf(askKeyOf, provider))
	}
	if err != nil {
		return nil, err
	}
	return jsonx.Marshal(e)
}

func (e *keyEntry) secret(ctx context.Context, ui UI, message string) error {
	answer, err := ui.Ask(ctx, Question{Method: MethodPrompt, Prompt: Prompt{Message: message}, Secret: true})
	if err != nil {
		return err
	}
	answer = strings.TrimSpace(answer)
	if answer == "" {
		return errors.New(errEmptyKey)
	}
	if strings.ContainsFunc(answer, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return errors.New(errKeyLines)
	}
	e.Key = answer
	return nil
}

// variable asks for the value of a variable that goes into the entry.
func (e *keyEntry) variable(ctx context.Context, ui UI, name, message string) error {
	answer, err := askText(ctx, ui, message, "")
	if err != nil {
		return err
	}
	if answer == "" {
		return fmt.Errorf(errEmptyField, message)
	}
	if e.Env == nil {
		e.Env = map[string]string{}
	}
	e.Env[name] = answer
	return nil
}

// fields asks for the key and for variables, given as pairs of name and message.
func (e *keyEntry) fields(ctx context.Context, ui UI, provider string, pairs ...string) error {
	if err := e.secret(ctx, ui, fmt.Sprintf(askKeyOf, provider)); err != nil {
		return err
	}
	for i := 0; i < len(pairs); i += 2 {
		if err := e.variable(ctx, ui, pairs[i], pairs[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// vertex offers a key, the default credentials of gcloud and a service account's file.
func (e *keyEntry) vertex(ctx context.Context, ui UI) error {
	const key, adc, account = "api-key", "adc", "service-account"
	method, err := choose(ctx, ui, "How do you want to use Google Vertex AI?",
		Option{key, "Google Cloud API key"}, Option{adc, "Application Default Credentials"}, Option{account, "Service account credentials file"})
	switch {
	case err != nil:
		return err
	case method == key:
		return e.secret(ctx, ui, "Google Cloud API key")
	case method != adc && method != account:
		return fmt.Errorf(errMethod, "Google Vertex AI", method)
	}
	hint := "Run gcloud auth application-default login, then give the project and the location."
	pairs := []string{"GOOGLE_CLOUD_PROJECT", "Google Cloud project ID", "GOOGLE_CLOUD_LOCATION", "Google Cloud location"}
	if method == account {
		hint = "Give the project, the location and the service account's credentials file."
		pairs = append(pairs, "GOOGLE_APPLICATION_CREDENTIALS", "Path of the service account credentials file")
	}
	ui.Notify(Notice{Method: MethodInfo, Message: hint, Links: []Link{{"Application Default Credentials", adcPage}}})
	for i := 0; i < len(pairs); i += 2 {
		if err := e.variable(ctx, ui, pairs[i], pairs[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// bedrock offers a bearer token, a profile, and whatever Amazon's own rules find.
func (e *keyEntry) bedrock(ctx context.Context, ui UI) error {
	const token, profile, chain = "bearer-token", "aws-profile", "credential-chain"
	method, err := choose(ctx, ui, "How do you want to use Amazon Bedrock?",
		Option{token, "Bearer token"}, Option{profile, "AWS profile"}, Option{chain, "Existing AWS credential chain"})
	switch {
	case err != nil:
		return err
	case method == token:
		return e.secret(ctx, ui, "Amazon Bedrock bearer token")
	case method == profile:
		return e.variable(ctx, ui, "AWS_PROFILE", "AWS profile name")
	case method != chain:
		return fmt.Errorf(errMethod, "Amazon Bedrock", method)
	}
	ui.Notify(Notice{
		Method: MethodInfo, Message: "Profiles, access keys and roles of the AWS configuration are used.",
		Links: []Link{{"AWS credential provider chain", awsPage}},
	})
	_, err = askText(ctx, ui, "Configure the AWS credentials, then press Enter", "")
	return err
}
