package auth

import "strings"

// fromEnv returns the first variable of the provider that is set and not empty.
func (k *Keys) fromEnv(provider string) (name, value string, ok bool) {
	for _, name := range envKeys(provider) {
		if v, ok := k.opt.Env(name); ok && v != "" {
			return name, v, true
		}
	}
	return "", "", false
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
