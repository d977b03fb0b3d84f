package export

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"strings"
	"sync"
)

//go:embed assets
var files embed.FS

// scripts are the sources of the page's script in the order they are put together in;
// they share one scope, and no other.
var scripts = []string{
	"base", "text", "code", "inline", "markdown", "diff", "data", "tree", "search",
	"list", "blocks", "tools", "entries", "card", "outline", "commands", "app",
}

// page is the fixed text of all pages. The title comes behind head, the index and the
// meta data behind body, the entries behind script.
type page struct{ head, body, script, end string }

// assets puts the page together when the first one is written.
var assets = sync.OnceValue(func() page {
	style := strings.ReplaceAll(asset("page.css"), "{{night}}", strings.TrimSpace(asset("night.css")))
	theme, script := asset("theme.js"), assembled(scripts)
	shell := strings.NewReplacer("{{policy}}", policy(theme, script, style), "{{style}}", style, "{{theme}}", theme).Replace(asset("page.html"))
	head, rest, ok := strings.Cut(shell, "{{title}}")
	body, end, ok2 := strings.Cut(rest, "{{session}}")
	if !ok || !ok2 {
		panic("export: page.html lacks a place") // a test would have shown it
	}
	return page{head: head, body: body, script: "<script>" + script + "</script>\n", end: end}
})

// assembled returns the sources as one script.
func assembled(names []string) string {
	var b bytes.Buffer
	b.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range names {
		b.WriteString(asset("js/" + name + ".js"))
	}
	b.WriteString("})();\n")
	return b.String()
}

func asset(name string) string {
	b, err := fs.ReadFile(files, "assets/"+name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return string(b)
}

// policy allows what the page brings along, and nothing else: no request, no frame, no
// form, no markup made from strings.
func policy(theme, script, style string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return fmt.Sprintf("default-src 'none'; script-src %s %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'",
		hash(theme), hash(script), hash(style))
}

func escapeHTML(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace(strings.ToValidUTF8(s, "\uFFFD"))
}
