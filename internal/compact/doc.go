// Package compact makes a context smaller, and says when that is due.
//
// It owns the size of a context (estimate.go), the rules that trigger a compaction
// (trigger.go), and two strategies behind one interface: Verbatim deletes lines of
// the transcript that a model ranked lowest and keeps the others byte for byte (seed
// 000; spec/atomic-facts.md section 6), Summary lets a model write a summary of
// what is old and keeps the newest messages (seed 003; spec/pi-facts.md section 3).
// Summaries of branches that a user leaves are made here too, and so are the files
// beside a session that a compaction leaves behind: backups and diagnostics.
//
// A compaction has three steps, so that whoever runs it can tell clients and ask
// extensions in between:
//
//	branch, err := compact.Load(view)                   // read what is there
//	plan, err := strategy.Prepare(&compact.Input{…})     // decide, without a model
//	outcome, err := plan.Run(ctx, complete)              // ask the model
//
// The outcome holds the entry to append to the session and the result as clients see
// it. Nothing is stored, sent or told by this package.
//
// It must not know clients, settings, credentials or providers: a Completer sends
// the requests, with keys, retries and their events. It starts no goroutines.
// Functions may be called concurrently; a Plan or an Outcome belongs to one
// goroutine. All work is linear in the size of the transcript.
package compact
