package proc

// guard has nothing to do here: job objects end with their last handle.
type guard struct{}

func (*guard) ready()     {}
func (*guard) add(int)    {}
func (*guard) remove(int) {}
func (*guard) close()     {}
