package auth

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// fromEnv returns the first variable of the provider that is set and not empty. One
// half of Amazon's key pair is none.
func fromEnv(provider string, env func(string) (string, bool)) (name, value string, ok bool) {
	for _, name := range envKeys(provider) {
		v, ok := env(name)
		if !ok || v == "" {
			continue
		}
		if other := pair(name); other != "" {
			if second, _ := env(other); second == "" {
				continue
			}
		}
		return name, v, true
	}
	return "", "", false
}

func pair(name string) string {
	switch name {
	case "AWS_ACCESS_KEY_ID":
		return "AWS_SECRET_ACCESS_KEY"
	case "AWS_SECRET_ACCESS_KEY":
		return "AWS_ACCESS_KEY_ID"
	}
	return ""
}

// ambient reports whether a cloud's own credentials are there, which the provider's
// protocol finds and uses by itself, and what they are. It looks for files and reads none.
func ambient(provider string, env func(string) (string, bool)) (label string, ok bool) {
	get := func(name string) string { v, _ := env(name); return v }
	switch provider {
	case "google-vertex":
		if get("GOOGLE_CLOUD_LOCATION") == "" {
			return "", false
		}
		if path := get("GOOGLE_APPLICATION_CREDENTIALS"); path != "" {
			return "GOOGLE_APPLICATION_CREDENTIALS", isFile(path)
		}
		return "gcloud application default credentials", isFile(gcloudFile(get))
	case "amazon-bedrock":
		if get("AWS_PROFILE") != "" {
			return "AWS_PROFILE", true
		}
		for _, name := range []string{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_WEB_IDENTITY_TOKEN_FILE"} {
			if get(name) != "" {
				return name, true
			}
		}
	}
	return "", false
}

// gcloudFile is where gcloud keeps the default credentials.
func gcloudFile(get func(string) string) string {
	dir := get("CLOUDSDK_CONFIG")
	switch {
	case dir != "":
	case runtime.GOOS == "windows":
		dir = filepath.Join(get("APPDATA"), "gcloud")
	default:
		dir = filepath.Join(get("HOME"), ".config", "gcloud")
	}
	return filepath.Join(dir, "application_default_credentials.json")
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// envCredential puts the value of a variable where the provider wants it.
func envCredential(name, value string) Credential {
	c := Credential{Source: SourceEnvironment, Label: name}
	switch name {
	case "ANTHROPIC_AUTH_TOKEN": // a bearer token, no key
		c.Headers = map[string]string{"Authorization": "Bearer " + value}
	case "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY": // signs by itself
	default:
		c.APIKey = value
	}
	return c
}

// adviceVariable is the variable to name to somebody who has no key.
func adviceVariable(provider string) string {
	names := envKeys(provider)
	for _, name := range names {
		if strings.HasSuffix(name, "_API_KEY") {
			return name
		}
	}
	if len(names) > 0 {
		return names[0]
	}
	return ""
}

// envKeys returns the variables that a provider's key is looked for in, in order
// (providers.md).
func envKeys(provider string) []string {
	switch provider {
	case "amazon-bedrock":
		return []string{"AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
	case "ant-ling":
		return []string{"ANT_LING_API_KEY"}
	case "anthropic":
		return []string{"ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"}
	case "azure", "azure-openai", "azure-openai-responses":
		return []string{"AZURE_OPENAI_API_KEY"}
	case "baseten":
		return []string{"BASETEN_API_KEY"}
	case "cerebras":
		return []string{"CEREBRAS_API_KEY"}
	case "cloudflare-ai-gateway", "cloudflare-workers-ai":
		return []string{"CLOUDFLARE_API_KEY"}
	case "deepseek":
		return []string{"DEEPSEEK_API_KEY"}
	case "fireworks":
		return []string{"FIREWORKS_API_KEY"}
	case "github-copilot":
		return []string{"COPILOT_GITHUB_TOKEN"}
	case "google":
		return []string{"GEMINI_API_KEY"}
	case "google-vertex":
		return []string{"GOOGLE_CLOUD_API_KEY"}
	case "groq":
		return []string{"GROQ_API_KEY"}
	case "huggingface":
		return []string{"HF_TOKEN"}
	case "kimi-coding":
		return []string{"KIMI_API_KEY"}
	case "meta":
		return []string{"META_API_KEY"}
	case "minimax":
		return []string{"MINIMAX_API_KEY"}
	case "minimax-cn":
		return []string{"MINIMAX_CN_API_KEY"}
	case "mistral":
		return []string{"MISTRAL_API_KEY"}
	case "moonshotai", "moonshotai-cn":
		return []string{"MOONSHOT_API_KEY"}
	case "nvidia":
		return []string{"NVIDIA_API_KEY"}
	case "openai":
		return []string{"OPENAI_API_KEY"}
	case "opencode", "opencode-go":
		return []string{"OPENCODE_API_KEY"}
	case "openrouter":
		return []string{"OPENROUTER_API_KEY"}
	case "qwen-token-plan":
		return []string{"QWEN_TOKEN_PLAN_TEAM_API_KEY", "QWEN_TOKEN_PLAN_API_KEY"}
	case "qwen-token-plan-cn":
		return []string{"QWEN_TOKEN_PLAN_TEAM_CN_API_KEY", "QWEN_TOKEN_PLAN_CN_API_KEY"}
	case "qwen-token-plan-individual":
		return []string{"QWEN_TOKEN_PLAN_INDIVIDUAL_API_KEY", "QWEN_TOKEN_PLAN_API_KEY"}
	case "qwen-token-plan-individual-cn":
		return []string{"QWEN_TOKEN_PLAN_INDIVIDUAL_CN_API_KEY", "QWEN_TOKEN_PLAN_CN_API_KEY"}
	case "radius":
		return []string{"RADIUS_API_KEY"}
	case "together":
		return []string{"TOGETHER_API_KEY"}
	case "vercel-ai-gateway":
		return []string{"AI_GATEWAY_API_KEY"}
	case "xai":
		return []string{"XAI_API_KEY"}
	case "xiaomi":
		return []string{"XIAOMI_API_KEY"}
	case "xiaomi-token-plan-ams":
		return []string{"XIAOMI_TOKEN_PLAN_AMS_API_KEY"}
	case "xiaomi-token-plan-cn":
		return []string{"XIAOMI_TOKEN_PLAN_CN_API_KEY"}
	case "xiaomi-token-plan-sgp":
		return []string{"XIAOMI_TOKEN_PLAN_SGP_API_KEY"}
	case "zai":
		return []string{"ZAI_API_KEY"}
	case "zai-coding-cn":
		return []string{"ZAI_CODING_CN_API_KEY"}
	}
	return nil
}
