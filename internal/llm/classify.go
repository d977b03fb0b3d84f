package llm

// Classify is replaced below.
func Classify(status int, code, text string) ErrorKind { return ErrUnknown }
