// Package model owns which models there are: the embedded catalogue, what
// models.json adds to and changes in it, and how a model is found by name, scoped,
// cycled and chosen at start.
//
// It must not know where keys come from (it is told which providers have one), how
// a model is called, or the client protocol. A Registry reads and decodes nothing
// until it is asked something; all its methods may be called concurrently. The
// models it returns must not be changed.
package model

//go:generate go run ./gen
