package lanyard

// Ptr returns a pointer to a value, for optional params.
func Ptr[T any](value T) *T { return &value }
