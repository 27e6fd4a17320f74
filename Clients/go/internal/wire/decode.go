package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Mismatch says where a value is not as the contract says. It never holds the value.
type Mismatch struct {
	// Record is the name of the type that was to be read.
	Record string
	// Path is a JSON Pointer (RFC 6901) below that type; `*` stands for a member whose name is data.
	Path    string
	Problem string
}

func (e *Mismatch) Error() string {
	path := e.Path
	if path == "" {
		path = "/"
	}
	return fmt.Sprintf("%s at %s: %s", e.Record, path, e.Problem)
}

// Unmarshal reads checked data into the struct that `into` points to. Its fields may go on using data.
func Unmarshal(data []byte, into any) error {
	value := reflect.ValueOf(into).Elem()
	if problem := decode(data[skipSpace(data, 0):], value); problem != nil {
		problem.Record = value.Type().Name()
		return problem
	}
	return nil
}

func decode(data []byte, into reflect.Value) *Mismatch {
	kind := into.Type()
	switch {
	case kind == rawType:
		into.SetBytes(data)
		return nil
	case kind == instantType:
		return decodeInstant(data, into)
	case reflect.PointerTo(kind).Implements(secretType):
		if data[0] != '"' || into.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(data) != nil {
			return &Mismatch{Problem: "not a string"}
		}
		return nil
	}
	switch kind.Kind() {
	case reflect.Pointer:
		target := reflect.New(kind.Elem())
		into.Set(target)
		return decode(data, target.Elem())
	case reflect.Struct:
		return decodeRecord(data, into)
	case reflect.Slice:
		return decodeList(data, into)
	case reflect.Map:
		return decodeMap(data, into)
	case reflect.String:
		if data[0] != '"' {
			return &Mismatch{Problem: "not a string"}
		}
		into.SetString(Text(data))
	case reflect.Int64:
		number, err := strconv.ParseInt(string(data), 10, 64)
		if err != nil {
			return &Mismatch{Problem: "not an integer"}
		}
		into.SetInt(number)
	case reflect.Bool:
		if data[0] != 't' && data[0] != 'f' {
			return &Mismatch{Problem: "not a boolean"}
		}
		into.SetBool(data[0] == 't')
	default:
		panic("wire: no way to read a " + kind.String())
	}
	return nil
}

func decodeRecord(data []byte, into reflect.Value) *Mismatch {
	if data[0] != '{' {
		return &Mismatch{Problem: "not an object"}
	}
	described := recordOf(into.Type())
	var seen [maximumMembers / 64]uint64
	var extra settableExtra
	if described.extra >= 0 {
		extra = into.Field(described.extra).Addr().Interface().(settableExtra)
	}
	var problem *Mismatch
	_ = Members(data, func(name string, value []byte) error {
		place, known := described.places[name]
		if !known {
			if extra != nil {
				extra.Set(name, value)
			}
			return nil
		}
		if value[0] == 'n' {
			return nil // null is as if absent
		}
		seen[place/64] |= 1 << (place % 64)
		if problem = decode(value, into.Field(described.members[place].field)); problem != nil {
			problem.Path = "/" + name + problem.Path
			return problem
		}
		return nil
	})
	if problem != nil {
		return problem
	}
	for place, member := range described.members {
		if member.required && seen[place/64]&(1<<(place%64)) == 0 {
			return &Mismatch{Problem: "no member " + member.name}
		}
	}
	return nil
}

func decodeList(data []byte, into reflect.Value) *Mismatch {
	if data[0] != '[' {
		return &Mismatch{Problem: "not an array"}
	}
	list := reflect.MakeSlice(into.Type(), 0, 4)
	var problem *Mismatch
	_ = Elements(data, func(value []byte) error {
		element := reflect.New(into.Type().Elem()).Elem()
		if problem = decode(value, element); problem != nil {
			problem.Path = "/" + strconv.Itoa(list.Len()) + problem.Path
			return problem
		}
		list = reflect.Append(list, element)
		return nil
	})
	into.Set(list)
	return problem
}

func decodeMap(data []byte, into reflect.Value) *Mismatch {
	if data[0] != '{' {
		return &Mismatch{Problem: "not an object"}
	}
	values := reflect.MakeMap(into.Type())
	var problem *Mismatch
	_ = Members(data, func(name string, value []byte) error {
		element := reflect.New(into.Type().Elem()).Elem()
		if problem = decode(value, element); problem != nil {
			problem.Path = "/*" + problem.Path
			return problem
		}
		values.SetMapIndex(reflect.ValueOf(name).Convert(into.Type().Key()), element)
		return nil
	})
	into.Set(values)
	return problem
}

func decodeInstant(data []byte, into reflect.Value) *Mismatch {
	if data[0] == '"' {
		if instant, err := parseInstant(Text(data)); err == nil {
			into.Set(reflect.ValueOf(instant))
			return nil
		}
	}
	return &Mismatch{Problem: "not an instant"}
}

// parseInstant reads an instant of RFC 3339. A leap second is read as the second before it.
func parseInstant(text string) (time.Time, error) {
	text = strings.ToUpper(text)
	if len(text) > 19 && text[16:19] == ":60" {
		text = text[:17] + "59" + text[19:]
	}
	instant, err := time.Parse(time.RFC3339Nano, text)
	return instant.UTC(), err
}
