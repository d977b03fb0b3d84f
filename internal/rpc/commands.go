package rpc

// handlers is the dispatch table: every command of the protocol. Handlers of one
// family live in cmd_<family>.go.
func handlers() map[string]handler {
	return map[string]handler{
		// Prompting
		"prompt":      promptCommand,
		"steer":       steerCommand,
		"follow_up":   followUpCommand,
		"abort":       abortCommand,
		"clear_queue": clearQueueCommand,

		// State
		"get_state":               getState,
		"get_messages":            getMessages,
		"get_last_assistant_text": getLastAssistantText,
		"get_commands":            getCommands,

		// Models and thinking
		"set_model":                     setModel,
		"cycle_model":                   cycleModel,
		"get_available_models":          getAvailableModels,
		"set_thinking_level":            setThinkingLevel,
		"cycle_thinking_level":          cycleThinkingLevel,
		"get_available_thinking_levels": getAvailableThinkingLevels,

		// Queue modes, retry, compaction
		"set_steering_mode":   setSteeringMode,
		"set_follow_up_mode":  setFollowUpMode,
		"set_auto_retry":      setAutoRetry,
		"abort_retry":         abortRetry,
		"compact":             compact,
		"set_auto_compaction": setAutoCompaction,
		"abort_compaction":    notYet,

		// Bash
		"bash":       bash,
		"user_bash":  bash,
		"abort_bash": abortBash,

		// Session
		"new_session":       newSession,
		"get_session_stats": getSessionStats,
		"get_entries":       getEntries,
		"get_tree":          getTree,
		"get_fork_messages": getForkMessages,
		"set_session_name":  setSessionName,
		"switch_session":    notYet,
		"import_session":    notYet,
		"fork":              notYet,
		"clone":             notYet,
		"export_html":       notYet,

		// Of the second part of the protocol
		"pause_queued_messages":         notYet,
		"resume_queued_messages":        notYet,
		"navigate_tree":                 notYet,
		"set_label":                     notYet,
		"reload":                        notYet,
		"set_context_window":            notYet,
		"get_available_context_windows": notYet,
		"get_shortcuts":                 notYet,
		"invoke_shortcut":               notYet,
		"get_command_completions":       notYet,
		"refresh_models":                notYet,
		"login_provider":                notYet,
		"cancel_login_provider":         notYet,
		"save_provider_credential":      notYet,
		"logout_provider":               notYet,
	}
}

// notYet answers commands of the protocol whose machinery is not there yet.
func notYet(_ *server, r *request) error { return errNotYet(r.command) }
