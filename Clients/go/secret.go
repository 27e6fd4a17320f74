package lanyard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const redacted = "[secret]"

// Secret is a text that does not print: no verb of fmt, no logger and no encoder shows it. Only Reveal tells it.
//
// A Secret protects from accidents. Go's memory is managed, so the text can't be wiped.
type Secret struct {
	// Behind a pointer, since fmt prints unexported fields of the structs that hold a Secret without asking its
	// methods.
	text *string
}

// NewSecret makes a Secret of a text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text; it is empty for the zero Secret.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no text. As an optional param such a Secret is absent.
func (s Secret) IsZero() bool { return s.text == nil }

// String returns a placeholder.
func (s Secret) String() string { return redacted }

// GoString returns a placeholder.
func (s Secret) GoString() string { return redacted }

// Format writes a placeholder, whatever the verb.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, redacted) }

// MarshalJSON writes a placeholder, so that a secret does not get into JSON by accident.
func (s Secret) MarshalJSON() ([]byte, error) {
	if s.text == nil {
		return []byte("null"), nil
	}
	return []byte(`"` + redacted + `"`), nil
}

// MarshalText writes a placeholder, for encoders of other formats.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// UnmarshalJSON reads the text.
func (s *Secret) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		return errors.New("lanyard: a secret is not a string")
	}
	s.text = &text
	return nil
}
