// Package session is the store of conversations: one JSONL file a session, a tree
// of entries in it, and the views that the rest of the program takes of that tree.
//
// It owns the session file format (versions 1 to 3, as read and written by pi and
// Atomic), the index of a file, appends and their undoing, locks, torn tails,
// migrations, forks, and the discovery of session files. It must not know how a
// conversation is run, what a client is told, or where settings come from.
//
// # Raw first
//
// Opening a file validates each line and indexes its head (type, id, parent, time,
// role of a message) with its place in the file: about 70 bytes an entry. Bodies
// stay on the disk and are read when they are asked for, so a line is handed out
// byte for byte as it was written, with key order and unknown members. Only a line
// with invalid UTF-8 or a stray carriage return is re-encoded on its way out. A line of
// several hundred kilobytes is indexed, counted and exported without being held in
// memory (outline.go).
//
// # Writing
//
// A session gets its file with its first user or assistant message; until then its
// entries wait in memory. Each later entry is one write. An append that fails is
// cut away again and leaves the store as it was. Nothing is changed by opening a
// file, except that an empty one gets a header and an old version is migrated (the
// original is kept beside it). A last line that a crash cut short is moved to
// "<file>.torn" by the first append, and only if nobody touched the file since.
//
// Among Isotope processes a session has one writer ("<file>.lock"). pi and Atomic
// take no lock, so before each append the file is compared with what is known of
// it, and lines of others are indexed.
//
// # Concurrency
//
// One goroutine owns a Store: it alone calls the methods that change it (Append,
// SetLeaf, Fork, Clone, Close) and View. A View is an immutable snapshot that any
// goroutine may read while the owner goes on. Sync, Retain and Registry may be used
// from anywhere. The package starts no goroutines.
//
// The format is described in spec/atomic-facts.md section 8 and spec/pi-facts.md
// section 6; where they differ, spec/dialects.md decides.
package session
