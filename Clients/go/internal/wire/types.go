package wire

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"time"
)

// Secret is a value whose text only its method Reveal tells. It reads itself from a JSON string.
type Secret interface {
	Reveal() string
	IsZero() bool
}

// Extra holds the unknown members of a record. A pointer to it also has Set.
type Extra interface {
	Map() map[string]json.RawMessage
}

type settableExtra interface {
	Set(name string, value json.RawMessage)
}

var (
	instantType = reflect.TypeOf(time.Time{})
	rawType     = reflect.TypeOf(json.RawMessage{})
	secretType  = reflect.TypeOf((*Secret)(nil)).Elem()
)

// record describes a struct type: its members by the tag `json`, where `omitempty` marks an optional one.
type record struct {
	name    string
	members []member
	places  map[string]int
	// extra is the index of the field for unknown members; -1 without one.
	extra int
}

type member struct {
	name     string
	field    int
	required bool
}

// maximumMembers is how many members a record may have.
const maximumMembers = 128

// records has a *record for each reflect.Type that was met.
var records sync.Map

func recordOf(kind reflect.Type) *record {
	if known, ok := records.Load(kind); ok {
		return known.(*record)
	}
	described := &record{name: kind.Name(), places: map[string]int{}, extra: -1}
	for index := 0; index < kind.NumField(); index++ {
		field := kind.Field(index)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Name == "Extra" && name == "-":
			described.extra = index
		case field.IsExported() && name != "" && name != "-":
			described.places[name] = len(described.members)
			described.members = append(described.members, member{name, index, options != "omitempty"})
		}
	}
	if len(described.members) > maximumMembers {
		panic("wire: " + described.name + " has too many members")
	}
	known, _ := records.LoadOrStore(kind, described)
	return known.(*record)
}
