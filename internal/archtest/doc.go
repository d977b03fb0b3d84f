// Package archtest holds the rules of the code base as tests: which package may import
// which, what may stand where, how long files and functions may be, and what the
// binary may weigh. An exception is a row of a table here, with its reason.
//
// It has no code of its own, and nothing imports it.
package archtest
