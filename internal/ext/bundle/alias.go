package bundle

import "strings"

// builtins are the names of Node's own modules, without "node:".
var builtins = strings.Fields(`assert assert/strict async_hooks buffer child_process cluster
	console constants crypto dgram diagnostics_channel dns dns/promises domain events fs
	fs/promises http http2 https inspector module net os path path/posix path/win32
	perf_hooks process punycode querystring readline readline/promises repl sea sqlite
	stream stream/consumers stream/promises stream/web string_decoder sys test timers
	timers/promises tls trace_events tty url util util/types v8 vm wasi worker_threads zlib`)

// The host modules that stand for the agent's packages, whatever their scope.
const (
	ModuleAgent     = "agent:coding"
	ModuleAI        = "agent:ai"
	ModuleTUI       = "agent:tui"
	ModuleCore      = "agent:core"
	ModuleTypebox   = "agent:typebox"
	ModuleTypeCheck = "agent:typebox/compile"
	ModuleTypeValue = "agent:typebox/value"
)

// scopes are the npm scopes under which the agent's packages were published.
var scopes = []string{"@earendil-works/", "@mariozechner/", "@bastani/"}

// HostModule returns the host module for an import: "node:fs" for "fs", one of the
// Module constants for the agent's packages and typebox, "" for what the host has not.
func HostModule(spec string) string {
	if strings.HasPrefix(spec, "node:") {
		return spec
	}
	for _, b := range builtins {
		if spec == b {
			return "node:" + spec
		}
	}
	for _, scope := range scopes {
		if rest, ok := strings.CutPrefix(spec, scope); ok {
			return agentPackage(rest)
		}
	}
	switch spec {
	case "typebox", "@sinclair/typebox", "typebox/type", "@sinclair/typebox/type":
		return ModuleTypebox
	case "typebox/compile", "typebox/compiler", "@sinclair/typebox/compiler", "@sinclair/typebox/compile", "typebox/schema":
		return ModuleTypeCheck
	case "typebox/value", "@sinclair/typebox/value", "typebox/error", "@sinclair/typebox/errors":
		return ModuleTypeValue
	}
	return ""
}

// agentPackage maps a package's name without its scope; what is below a package is
// part of it.
func agentPackage(rest string) string {
	pkg, _, _ := strings.Cut(rest, "/")
	switch pkg {
	case "pi-coding-agent", "atomic", "atomic-coding-agent":
		return ModuleAgent
	case "pi-ai", "atomic-ai":
		return ModuleAI
	case "pi-tui", "atomic-tui":
		return ModuleTUI
	case "pi-agent-core", "pi-agent", "atomic-agent-core":
		return ModuleCore
	}
	return ""
}
