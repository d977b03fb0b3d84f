package engine

import (
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
	"github.com/isotope-agent/isotope/internal/tool"
)

// conversation is the live context in memory. It is read from the session when the
// first request needs it, then kept up with every append. It belongs to the engine
// goroutine; the slice is append-only, so a prefix of it may be read elsewhere.
type conversation struct {
	msgs   []llm.Message
	loaded bool
	// gen changes whenever the context is another one (navigation, replacement), so
	// that a load in flight knows that it is stale.
	gen int

	system         string
	systemFor      *tool.Set
	systemOverride string // for the current run, by an extension
}

func (c *conversation) append(m llm.Message) {
	if c.loaded {
		c.msgs = append(c.msgs, m)
	} else {
		c.gen++
	}
}

// loadedFrom takes what was read from the session when the context was at gen. What is
// stale by now is dropped: the caller reads again.
func (c *conversation) loadedFrom(gen int, msgs []llm.Message) {
	if !c.loaded && c.gen == gen {
		c.msgs, c.loaded = msgs, true
	}
}

// reset forgets the context; it is read again when it is needed.
func (c *conversation) reset(empty bool) {
	*c = conversation{gen: c.gen + 1, loaded: empty}
}

// reload forgets the messages only: the file shows another context from now on.
func (c *conversation) reload() {
	c.msgs, c.loaded = nil, false
	c.gen++
}

// dropFailed removes a failed attempt that is about to be retried from the context.
// It stays in the file.
func (c *conversation) dropFailed(m llm.Message) {
	if n := len(c.msgs); n > 0 && c.msgs[n-1] == m {
		c.msgs = c.msgs[: n-1 : n-1]
	}
}

// appendMessage stores a message and makes it part of the conversation.
func (e *Engine) appendMessage(m llm.Message) error {
	body, err := messageBody(m)
	if err == nil {
		_, err = e.store.Append(body)
	}
	if err != nil {
		return fmt.Errorf("storing a message: %w", err)
	}
	e.conv.append(m)
	return nil
}

// messageBody is the entry of a message: those of extensions have one of their own.
func messageBody(m llm.Message) (session.Body, error) {
	c, ok := m.(*llm.CustomMessage)
	if !ok {
		return session.Message{Message: m}, nil
	}
	content, err := jsonx.Marshal(c.Content)
	if err != nil {
		return nil, err
	}
	return session.CustomMessage{
		CustomType: c.CustomType, Content: content, Display: c.Display, Details: c.Details,
		ExcludeFromContext: c.ExcludeFromContext,
	}, nil
}

// conversationMessages returns the messages of the active context. It is called on
// the run goroutine; the first call in an opened session reads the file.
func (e *Engine) conversationMessages() ([]llm.Message, error) {
	for {
		var (
			msgs   []llm.Message
			loaded bool
			gen    int
			view   *session.View
		)
		e.sync(func() {
			loaded, gen = e.conv.loaded, e.conv.gen
			if loaded {
				msgs = e.conv.msgs[:len(e.conv.msgs):len(e.conv.msgs)]
			} else {
				view = e.store.View()
			}
		})
		if loaded {
			return msgs, nil
		}
		if view == nil {
			return nil, ErrShutdown
		}
		ctx, err := view.Context()
		if err != nil {
			return nil, fmt.Errorf("reading the conversation: %w", err)
		}
		e.sync(func() { e.conv.loadedFrom(gen, ctx.Messages) })
	}
}

// systemPrompt returns the system prompt for a set of tools. It is built once and
// again when the tools change. It is called on the run goroutine.
func (e *Engine) systemPrompt(tools *tool.Set) string {
	var text string
	var have bool
	e.sync(func() {
		switch {
		case e.conv.systemOverride != "":
			text, have = e.conv.systemOverride, true
		case e.conv.systemFor == tools:
			text, have = e.conv.system, true
		}
	})
	if have || e.cfg.SystemPrompt == nil {
		return text
	}
	text = e.cfg.SystemPrompt(tools)
	e.sync(func() { e.conv.system, e.conv.systemFor = text, tools })
	return text
}

// userMessage builds the message for a text and its pictures. The notes about
// pictures that were changed or left out follow the text.
func (e *Engine) userMessage(text string, images []*llm.Image) *llm.UserMessage {
	var notes []string
	if e.cfg.NormalizeImages != nil && len(images) > 0 {
		images, notes = e.cfg.NormalizeImages(images)
	}
	if len(notes) > 0 {
		text = strings.TrimPrefix(text+"\n\n"+strings.Join(notes, "\n"), "\n\n")
	}
	m := &llm.UserMessage{Content: llm.Content{}, Timestamp: e.now()}
	if text != "" {
		m.Content = append(m.Content, llm.NewText(text))
	}
	for _, img := range images {
		m.Content = append(m.Content, img)
	}
	return m
}
