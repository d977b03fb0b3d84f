// Package export turns a session into something a person can keep: one HTML page that
// needs nothing but a browser, or the session as JSON Lines.
//
// It owns the page (assets, its scripts and styles are sources of their own, embedded
// as they are), the index that lets a huge page open at once, the texts of the errors
// of export_html and the default name of a page. It must not know how a conversation
// is run, nor what a client asks for.
//
// # How a page is made
//
// The page is a shell, an index of all entries (kind, id, parent, time, first words),
// the script, and then the entries themselves, as they stand in the file, in pieces of
// type application/json. Nothing is rendered here: the browser builds what is visible
// from the raw entry, so no text of a session ever becomes markup. In what is embedded
// each "<" is written \u003C, so that no piece can end early. A Content-Security-Policy
// allows the page's own script and style by hash and pictures from data: only; a page
// never asks the network for anything.
//
// Writing streams in two passes over the session, one for the index and one for the
// entries, each made in parts by several goroutines and written in order (inOrder).
// A long entry is described by its outline and copied in chunks: memory holds a few
// parts, not even the largest entry, and time is linear.
//
// # Concurrency
//
// All functions may be called concurrently, also for views of one session. The
// goroutines that make the parts of a page end before their function does.
//
// The page is described in spec/atomic-facts.md section 14; its looks are our own.
package export
