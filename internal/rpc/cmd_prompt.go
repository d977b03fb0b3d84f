package rpc

import (
	"fmt"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/llm"
)

type disposition struct {
	Disposition engine.Disposition `json:"disposition"`
}

func promptCommand(s *server, r *request) error {
	behavior, err := optOneOf(r, "streamingBehavior", engine.InputSteer, engine.InputFollowUp)
	if err != nil {
		return err
	}
	return submit(s, r, engine.InputPrompt, behavior)
}

func steerCommand(s *server, r *request) error { return submit(s, r, engine.InputSteer, "") }

func followUpCommand(s *server, r *request) error { return submit(s, r, engine.InputFollowUp, "") }

// submit brings a text in and answers with what became of it.
func submit(s *server, r *request, kind, behavior engine.InputKind) error {
	in := engine.Input{Kind: kind, Behavior: behavior}
	var err error
	if in.Text, err = r.str("message"); err != nil {
		return err
	}
	if in.Images, err = images(r); err != nil {
		return err
	}
	if err := attach(r, &in); err != nil {
		return err
	}
	if in.Text == "" && len(in.Images) == 0 {
		return engine.ErrNothingToSend
	}
	s.cfg.Engine.Submit(in, func(d engine.Disposition, err error) {
		if err != nil {
			r.fail(err)
			return
		}
		r.reply(disposition{d})
	})
	return nil
}

const whatImages = `an array of {"type":"image","data":"<base64>","mimeType":"image/…"}`

// images decodes the parameter "images".
func images(r *request) ([]*llm.Image, error) {
	list, _, err := optional[[]struct {
		Type     string  `json:"type"`
		Data     *string `json:"data"`
		MimeType string  `json:"mimeType"`
	}](r, "images", whatImages)
	if err != nil {
		return nil, err
	}
	var out []*llm.Image
	for i, img := range list {
		if img.Type != "image" || img.Data == nil || img.MimeType == "" {
			return nil, fmt.Errorf("images[%d] must be {\"type\":\"image\",\"data\":\"<base64>\",\"mimeType\":\"image/…\"}", i)
		}
		out = append(out, llm.NewImage(*img.Data, img.MimeType))
	}
	return out, nil
}

func abortCommand(s *server, r *request) error {
	s.cfg.Engine.Abort(r.done)
	return nil
}

func clearQueueCommand(s *server, r *request) error {
	s.cfg.Engine.ClearQueue(data[engine.Cleared](r))
	return nil
}
