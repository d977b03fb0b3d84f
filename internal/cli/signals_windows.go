package cli

import "os"

// endSignals are the signals that end the program in order.
func endSignals() []os.Signal { return []os.Signal{os.Interrupt} }

// watchPipe has nothing to do: there is no SIGPIPE here.
func watchPipe() {}

// signalCode is the exit code after an interrupt.
func signalCode(os.Signal) int { return 130 }
