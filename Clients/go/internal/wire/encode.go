package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"sort"
	"strconv"
	"time"
	"unicode/utf8"
)

// ErrNotUTF8 says that a string of the params can't go over the wire.
var ErrNotUTF8 = errors.New("a string of the params is not UTF-8")

// Marshal writes a value as JSON without line breaks. Secrets are written as they are, and unknown members too.
func Marshal(value any) ([]byte, error) {
	return Append(nil, value)
}

// Append appends what Marshal writes.
func Append(to []byte, value any) ([]byte, error) {
	if value == nil {
		return append(to, "null"...), nil
	}
	return encode(to, reflect.ValueOf(value))
}

func encode(to []byte, value reflect.Value) ([]byte, error) {
	kind := value.Type()
	switch {
	case kind == rawType:
		return appendRaw(to, value.Bytes())
	case kind == instantType:
		instant := value.Interface().(time.Time).UTC()
		return append(to, instant.Format(`"2006-01-02T15:04:05.000Z"`)...), nil
	case kind.Kind() != reflect.Pointer && kind.Implements(secretType):
		return appendText(to, value.Interface().(Secret).Reveal())
	}
	switch kind.Kind() {
	case reflect.Pointer, reflect.Interface:
		if value.IsNil() {
			return append(to, "null"...), nil
		}
		return encode(to, value.Elem())
	case reflect.Struct:
		return appendRecord(to, value)
	case reflect.Slice, reflect.Array:
		return appendList(to, value)
	case reflect.Map:
		return appendMap(to, value)
	case reflect.String:
		return appendText(to, value.String())
	case reflect.Bool:
		return strconv.AppendBool(to, value.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(to, value.Int(), 10), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.AppendUint(to, value.Uint(), 10), nil
	case reflect.Float32, reflect.Float64:
		if math.IsNaN(value.Float()) || math.IsInf(value.Float(), 0) {
			return nil, errors.New("a number of the params is not finite")
		}
		return strconv.AppendFloat(to, value.Float(), 'g', -1, 64), nil
	}
	return nil, fmt.Errorf("a %s can't be a param", kind)
}

func appendRecord(to []byte, value reflect.Value) ([]byte, error) {
	described := recordOf(value.Type())
	start := len(to) + 1
	to = append(to, '{')
	var err error
	for _, member := range described.members {
		field := value.Field(member.field)
		if !member.required && isAbsent(field) {
			continue
		}
		if to, err = appendName(to, start, member.name); err != nil {
			return nil, err
		}
		if member.required && field.Kind() == reflect.Slice && field.IsNil() && field.Type() != rawType {
			to = append(to, "[]"...)
		} else if member.required && field.Kind() == reflect.Map && field.IsNil() {
			to = append(to, "{}"...)
		} else if to, err = encode(to, field); err != nil {
			return nil, err
		}
	}
	if described.extra >= 0 {
		if to, err = appendExtra(to, start, value.Field(described.extra)); err != nil {
			return nil, err
		}
	}
	return append(to, '}'), nil
}

func isAbsent(field reflect.Value) bool {
	switch field.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return field.IsNil()
	}
	return field.IsZero()
}

func appendList(to []byte, value reflect.Value) ([]byte, error) {
	to = append(to, '[')
	var err error
	for index := 0; index < value.Len(); index++ {
		if index > 0 {
			to = append(to, ',')
		}
		if to, err = encode(to, value.Index(index)); err != nil {
			return nil, err
		}
	}
	return append(to, ']'), nil
}

func appendMap(to []byte, value reflect.Value) ([]byte, error) {
	if value.Type().Key().Kind() != reflect.String {
		return nil, fmt.Errorf("a %s can't be a param", value.Type())
	}
	start := len(to) + 1
	to, err := appendMembers(append(to, '{'), start, value)
	if err != nil {
		return nil, err
	}
	return append(to, '}'), nil
}

func appendExtra(to []byte, start int, field reflect.Value) ([]byte, error) {
	members := field.Interface().(Extra).Map()
	if len(members) == 0 {
		return to, nil
	}
	return appendMembers(to, start, reflect.ValueOf(members))
}

// appendMembers writes the members of a map, sorted by name.
func appendMembers(to []byte, start int, value reflect.Value) ([]byte, error) {
	names := value.MapKeys()
	sort.Slice(names, func(a, b int) bool { return names[a].String() < names[b].String() })
	var err error
	for _, name := range names {
		if to, err = appendName(to, start, name.String()); err != nil {
			return nil, err
		}
		if to, err = encode(to, value.MapIndex(name)); err != nil {
			return nil, err
		}
	}
	return to, nil
}

func appendName(to []byte, start int, name string) ([]byte, error) {
	if len(to) > start {
		to = append(to, ',')
	}
	to, err := appendText(to, name)
	if err != nil {
		return nil, err
	}
	return append(to, ':'), nil
}

func appendRaw(to []byte, raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return append(to, "null"...), nil
	}
	if err := Check(raw); err != nil {
		return nil, errors.New("a raw value of the params is not JSON")
	}
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return append(to, raw...), nil
	}
	buffer := bytes.NewBuffer(to)
	// The value is checked, so this can't fail.
	_ = json.Compact(buffer, raw)
	return buffer.Bytes(), nil
}

const hexDigits = "0123456789abcdef"

func appendText(to []byte, text string) ([]byte, error) {
	if !utf8.ValidString(text) {
		return nil, ErrNotUTF8
	}
	to = append(to, '"')
	start := 0
	for index := 0; index < len(text); index++ {
		octet := text[index]
		if octet >= ' ' && octet != '"' && octet != '\\' {
			continue
		}
		to = append(to, text[start:index]...)
		switch octet {
		case '"', '\\':
			to = append(to, '\\', octet)
		case '\n':
			to = append(to, '\\', 'n')
		case '\r':
			to = append(to, '\\', 'r')
		case '\t':
			to = append(to, '\\', 't')
		default:
			to = append(to, '\\', 'u', '0', '0', hexDigits[octet>>4], hexDigits[octet&15])
		}
		start = index + 1
	}
	return append(append(to, text[start:]...), '"'), nil
}
