package jsonx

import "errors"

// SyntaxError returns what Fault says of data as an error, nil when data is exactly
// one JSON value.
func SyntaxError(data []byte) error {
	if fault := Fault(string(data)); fault != "" {
		return errors.New(fault)
	}
	return nil
}
