package bedrock

import (
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Texts that clients see; those of the reference are kept where clients match them.
const (
	textNoReason    = "Bedrock stream ended without a stop reason"
	textStopped     = "Provider stopped with: " // and the stop reason
	textCorrupt     = "Bedrock stream is corrupt: "
	textBadRequest  = "building the Bedrock request: "
	textMalformed   = "Error reading response: malformed Bedrock event JSON."
	textRetention   = " See https://docs.aws.amazon.com/bedrock/latest/userguide/data-retention.html for supported data retention modes."
	textCredentials = "reading AWS credentials: "
	textNoKeys      = "No AWS credentials: set AWS_BEARER_TOKEN_BEDROCK, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
	textProfile     = "AWS profile " // its name, and one of the following
	textNoProfile   = " was not found"
	textIndirect    = " has no keys of its own (SSO, roles and processes are not followed): " +
		"run aws configure export-credentials and set what it prints"
)

// worded returns an exception's message as the reference words it: clients tell kinds
// of failure apart by these beginnings.
func worded(exception, message string) string {
	prefix := exception
	switch strings.ToLower(exception) {
	case "internalserverexception":
		prefix = "Internal server error"
	case "modelstreamerrorexception":
		prefix = "Model stream error"
	case "validationexception":
		prefix = "Validation error"
	case "throttlingexception":
		prefix = "Throttling error"
	case "serviceunavailableexception":
		prefix = "Service unavailable"
	}
	if strings.Contains(strings.ToLower(message), "data retention mode") {
		message += textRetention
	}
	return prefix + ": " + message
}

// text returns a raw string's text, "" for any other value.
func text(raw jsonx.Raw) string {
	var p jsonx.Pieces
	return p.Next(raw)
}
