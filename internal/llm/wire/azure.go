package wire

import (
	"net/url"
	"strings"

	"github.com/isotope-agent/isotope/internal/llm"
)

// Texts of a setup of Azure that is not complete.
const (
	textNoAzureURL  = "Azure OpenAI base URL is required: set AZURE_OPENAI_BASE_URL or AZURE_OPENAI_RESOURCE_NAME"
	textBadAzureURL = "AZURE_OPENAI_BASE_URL is not a URL"
)

// Azure finds an Azure resource and its deployments in variables; Lookup returns one,
// "" for none (providers.md).
type Azure struct{ Lookup func(name string) string }

// Base returns the URL that the path of an operation is put behind. Of Azure's own hosts,
// people know the resource, not the path.
func (a Azure) Base(m *llm.Model) (*url.URL, error) {
	base := a.Lookup("AZURE_OPENAI_BASE_URL")
	if name := a.Lookup("AZURE_OPENAI_RESOURCE_NAME"); base == "" && name != "" {
		base = "https://" + name + ".openai.azure.com/openai/v1"
	}
	if base == "" {
		base = strings.TrimSpace(m.BaseURL)
	}
	if base == "" {
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Message: textNoAzureURL}
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Message: textBadAzureURL} // it may hold a secret
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	if azureHost(u.Hostname()) {
		switch u.Path {
		case "", "/openai", "/openai/v1/responses":
			u.Path, u.RawQuery = "/openai/v1", ""
		}
	}
	return u, nil
}

func azureHost(host string) bool {
	for _, suffix := range []string{".openai.azure.com", ".cognitiveservices.azure.com", ".ai.azure.com"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}

// Deployment returns the name under which a model was deployed: what
// AZURE_OPENAI_DEPLOYMENT_NAME_MAP says (model=deployment,…), else the model's id.
func (a Azure) Deployment(m *llm.Model) string {
	for entry := range strings.SplitSeq(a.Lookup("AZURE_OPENAI_DEPLOYMENT_NAME_MAP"), ",") {
		model, name, ok := strings.Cut(entry, "=")
		if name = strings.TrimSpace(name); ok && name != "" && strings.TrimSpace(model) == m.ID {
			return name
		}
	}
	return m.ID
}
