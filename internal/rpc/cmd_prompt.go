package rpc

import (
	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/llm"
)

func promptCommands() []Command {
	message := Param{Name: "message", Kind: KindString, Required: true, Doc: "The text. It may be empty when there are images."}
	images := Param{Name: "images", Kind: KindImages, Doc: "Pictures that go with the text."}
	files := Param{Name: "attachments", Kind: KindAttachments, Doc: "Files: pictures become images, others contribute their text."}
	behavior := Param{
		Name: "streamingBehavior", Kind: KindWord, Words: []string{string(engine.InputSteer), string(engine.InputFollowUp)},
		Doc: "How the prompt queues itself while a run is active.",
	}
	return []Command{
		{
			Name: "prompt", Class: Ordinary, Summary: "Sends a message and starts a run.",
			Params: []Param{behavior, message, images, files}, Data: Disposition{}, handle: submit(engine.InputPrompt),
		},
		{
			Name: "steer", Class: Ordinary, Summary: "Queues a message for the active run, after the tools of the turn.",
			Params: []Param{message, images, files}, Data: Disposition{}, handle: submit(engine.InputSteer),
		},
		{
			Name: "follow_up", Class: Ordinary, Summary: "Queues a message for the time when the run would stop.",
			Params: []Param{message, images, files}, Data: Disposition{}, handle: submit(engine.InputFollowUp),
		},
		{
			Name: "abort", Class: Interrupt, Summary: "Cancels the run, a retry wait and a compaction; queued messages go on.",
			handle: func(s *server, r *request) error { s.cfg.Engine.Abort(r.done); return nil },
		},
		{
			Name: "clear_queue", Class: Interrupt, Summary: "Empties both queues and returns their texts.", Data: engine.Cleared{},
			handle: func(s *server, r *request) error { s.cfg.Engine.ClearQueue(data[engine.Cleared](r)); return nil },
		},
		{
			Name: "pause_queued_messages", Class: Interrupt, Summary: "Holds queued messages back, those to come included.",
			handle: func(s *server, r *request) error { s.cfg.Engine.PauseQueued(r.done); return nil },
		},
		{
			Name: "resume_queued_messages", Class: Interrupt, Data: engine.Released{},
			Summary: "Lets queued messages be delivered again; it starts no run.",
			handle:  func(s *server, r *request) error { s.cfg.Engine.ResumeQueued(data[engine.Released](r)); return nil },
		},
	}
}

// submit brings a text in and answers with what became of it.
func submit(kind engine.InputKind) handler {
	return func(s *server, r *request) error {
		in := engine.Input{
			Kind: kind, Behavior: engine.InputKind(r.str("streamingBehavior")), Text: r.str("message"),
			Images: valueOf[[]*llm.Image](r.values, "images"),
		}
		attach(valueOf[[]attachment](r.values, "attachments"), &in)
		if in.Text == "" && len(in.Images) == 0 {
			return engine.ErrNothingToSend
		}
		s.cfg.Engine.Submit(in, func(d engine.Disposition, err error) { data[Disposition](r)(Disposition{d}, err) })
		return nil
	}
}
