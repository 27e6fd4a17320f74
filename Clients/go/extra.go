package lanyard

import (
	"encoding/json"
	"fmt"
	"io"
)

// Extra holds the members of an object that this version does not know, by their names on the wire. A newer agent may
// send some, and a program may set some that a newer agent knows. They may be secret, so that printing shows only how
// many there are.
type Extra struct {
	// Behind two pointers for the same reason as the text of a Secret: fmt follows one pointer to a map.
	members **map[string]json.RawMessage
}

// Get returns a member; false if there is none of this name.
func (e Extra) Get(name string) (json.RawMessage, bool) {
	value, ok := e.Map()[name]
	return value, ok
}

// Map returns all members. It is nil if there are none, and belongs to e.
func (e Extra) Map() map[string]json.RawMessage {
	if e.members == nil {
		return nil
	}
	return **e.members
}

// Set sets a member.
func (e *Extra) Set(name string, value json.RawMessage) {
	if e.members == nil {
		members := &map[string]json.RawMessage{}
		e.members = &members
	}
	(**e.members)[name] = value
}

// String tells how many members there are.
func (e Extra) String() string { return fmt.Sprintf("[%d members]", len(e.Map())) }

// GoString tells how many members there are.
func (e Extra) GoString() string { return e.String() }

// Format tells how many members there are, whatever the verb.
func (e Extra) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, e.String()) }
