// Package wire reads and writes the JSON of the protocol.
//
// It differs from encoding/json where the contract does: names of members match exactly, unknown members are kept,
// instants have milliseconds, and the text of an error holds no value.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// ErrNotJSON says that bytes are not JSON in UTF-8.
var ErrNotJSON = errors.New("not JSON")

// Check fails with ErrNotJSON unless data is one JSON value in UTF-8. The other functions of this file need checked
// data.
func Check(data []byte) error {
	if !utf8.Valid(data) || !json.Valid(data) {
		return ErrNotJSON
	}
	return nil
}

// IsObject reports whether checked data is an object.
func IsObject(data []byte) bool {
	start := skipSpace(data, 0)
	return start < len(data) && data[start] == '{'
}

// IsNull reports whether checked data is null.
func IsNull(data []byte) bool {
	start := skipSpace(data, 0)
	return start < len(data) && data[start] == 'n'
}

// Members calls visit for each member of a checked object, in order. The value is a part of data.
func Members(data []byte, visit func(name string, value []byte) error) error {
	at := skipSpace(data, skipSpace(data, 0)+1)
	for data[at] != '}' {
		end := skipValue(data, at)
		name := Text(data[at:end])
		at = skipSpace(data, end)
		at = skipSpace(data, at+1) // the colon
		end = skipValue(data, at)
		if err := visit(name, data[at:end:end]); err != nil {
			return err
		}
		at = nextItem(data, end)
	}
	return nil
}

// Elements calls visit for each element of a checked array, in order. The value is a part of data.
func Elements(data []byte, visit func(value []byte) error) error {
	at := skipSpace(data, skipSpace(data, 0)+1)
	for data[at] != ']' {
		end := skipValue(data, at)
		if err := visit(data[at:end:end]); err != nil {
			return err
		}
		at = nextItem(data, end)
	}
	return nil
}

// Text is the value of a checked string.
func Text(data []byte) string {
	if bytes.IndexByte(data, '\\') < 0 {
		return string(data[1 : len(data)-1])
	}
	var text string
	// The data is checked, so this can't fail. A lone surrogate escape becomes U+FFFD.
	_ = json.Unmarshal(data, &text)
	return text
}

// nextItem returns the place of the next item after the comma, or of the closing bracket.
func nextItem(data []byte, end int) int {
	at := skipSpace(data, end)
	if data[at] == ',' {
		return skipSpace(data, at+1)
	}
	return at
}

func skipSpace(data []byte, at int) int {
	for at < len(data) && (data[at] == ' ' || data[at] == '\t' || data[at] == '\n' || data[at] == '\r') {
		at++
	}
	return at
}

// skipValue returns the end of the value that begins at a place.
func skipValue(data []byte, at int) int {
	switch data[at] {
	case '"':
		return skipString(data, at)
	case '{', '[':
		depth := 0
		for {
			switch data[at] {
			case '"':
				at = skipString(data, at)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
				if depth == 0 {
					return at + 1
				}
			}
			at++
		}
	}
	for at < len(data) {
		switch data[at] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return at
		}
		at++
	}
	return at
}

func skipString(data []byte, at int) int {
	for at++; ; at++ {
		// A body may have a MiB, so look for the end in big steps.
		at += bytes.IndexByte(data[at:], '"')
		escapes := 0
		for data[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at + 1
		}
	}
}
