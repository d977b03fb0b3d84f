package google

import (
	"fmt"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

type (
	requestBody struct {
		Contents   []content         `json:"contents"`
		System     *content          `json:"systemInstruction,omitzero"`
		Tools      []toolSet         `json:"tools,omitzero"`
		Generation generationOptions `json:"generationConfig"`
	}
	generationOptions struct {
		MaxOutputTokens int64     `json:"maxOutputTokens,omitzero"`
		Thinking        *thinking `json:"thinkingConfig,omitzero"`
	}
	content struct {
		Role  string `json:"role"`
		Parts []part `json:"parts"`
	}
	// part is a piece of content of any kind; Text is nil where it is none.
	part struct {
		Text      *string           `json:"text,omitzero"`
		Thought   bool              `json:"thought,omitzero"`
		Inline    *blob             `json:"inlineData,omitzero"`
		Call      *functionCall     `json:"functionCall,omitzero"`
		Response  *functionResponse `json:"functionResponse,omitzero"`
		Signature string            `json:"thoughtSignature,omitzero"`
	}
	blob struct {
		MimeType string `json:"mimeType"`
		Data     string `json:"data"`
	}
	functionCall struct {
		ID   string    `json:"id,omitzero"`
		Name string    `json:"name"`
		Args jsonx.Raw `json:"args"`
	}
	functionResponse struct {
		ID       string   `json:"id,omitzero"`
		Name     string   `json:"name"`
		Response response `json:"response"`
		Parts    []part   `json:"parts,omitzero"`
	}
	// response has one of two members: Gemini 3 accepts no other names.
	response struct {
		Output *string `json:"output,omitzero"`
		Error  *string `json:"error,omitzero"`
	}
	toolSet struct {
		Functions []function `json:"functionDeclarations"`
	}
	function struct {
		Name        string    `json:"name"`
		Description string    `json:"description"`
		Parameters  jsonx.Raw `json:"parametersJsonSchema"`
	}
)

// body returns the request's JSON.
func body(req *llm.Request) (*requestBody, error) {
	r := &requestBody{
		Contents: contents(req),
		Generation: generationOptions{
			MaxOutputTokens: llm.AnswerBudget(req), Thinking: think(req.Model, req.Thinking),
		},
	}
	if req.System != "" {
		r.System = &content{Role: "user", Parts: []part{textPart(req.System)}}
	}
	if len(req.Tools) > 0 {
		set := toolSet{}
		for _, spec := range req.Tools {
			schema, err := schemaOf(spec.Parameters)
			if err != nil {
				return nil, fmt.Errorf("schema of tool %s: %w", spec.Name, err)
			}
			set.Functions = append(set.Functions, function{spec.Name, spec.Description, schema})
		}
		r.Tools = []toolSet{set}
	}
	return r, nil
}

func textPart(s string) part { return part{Text: &s} }
