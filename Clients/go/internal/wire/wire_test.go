package wire

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

type inner struct {
	Name string `json:"name"`
}

type outer struct {
	Count   int64                      `json:"count"`
	At      time.Time                  `json:"at"`
	Items   []inner                    `json:"items"`
	Flag    *bool                      `json:"flag,omitempty"`
	Any     json.RawMessage            `json:"any,omitempty"`
	Map     map[string]json.RawMessage `json:"map,omitempty"`
	Pointer *inner                     `json:"pointer,omitempty"`
}

const whole = `{"count":9007199254740991,"at":"2030-01-01T00:00:00.120Z","items":[{"name":"ü\u0022\\"}],` +
	`"flag":false,"any":[1,{"a":null}],"map":{"x":1.0},"pointer":{"name":""}}`

func TestRoundTrip(t *testing.T) {
	for _, text := range []string{whole, " " + strings.ReplaceAll(whole, ",", " ,\t") + "\r"} {
		if err := Check([]byte(text)); err != nil {
			t.Fatal(err)
		}
		var value outer
		if err := Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if value.Items[0].Name != `ü"\` || value.Count != 1<<53-1 || *value.Flag || value.Pointer == nil {
			t.Fatalf("%+v", value)
		}
		back, err := Marshal(&value)
		if err != nil {
			t.Fatal(err)
		}
		wanted := strings.Replace(whole, `\u0022`, `\"`, 1)
		if strings.ReplaceAll(string(back), " ,\t", ",") != wanted {
			t.Fatalf("%s", back)
		}
	}
}

func TestMismatchNamesThePlaceAndNoValue(t *testing.T) {
	const begin = `{"count":1,"at":"2030-01-01T00:00:00Z",`
	for text, wanted := range map[string]string{
		`{}`: "outer at /: no member count",
		`{"count":1.5,"at":"2030-01-01T00:00:00Z","items":[]}`:  "outer at /count: not an integer",
		`{"count":null,"at":"2030-01-01T00:00:00Z","items":[]}`: "outer at /: no member count",
		`{"count":1,"at":"soon","items":[]}`:                    "outer at /at: not an instant",
		begin + `"items":[{"name":"hush"},{"name":7}]}`:         "outer at /items/1/name: not a string",
		begin + `"items":{}}`:                                   "outer at /items: not an array",
		begin + `"items":[],"flag":"hush"}`:                     "outer at /flag: not a boolean",
		begin + `"items":[],"pointer":"hush"}`:                  "outer at /pointer: not an object",
		`[1]`:                                                   "outer at /: not an object",
	} {
		var value outer
		err := Unmarshal([]byte(text), &value)
		if err == nil || err.Error() != wanted {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestInstants(t *testing.T) {
	for text, wanted := range map[string]string{
		"2030-01-01T00:05:00Z":           "2030-01-01T00:05:00.000Z",
		"2030-01-01t02:05:00.1234+02:00": "2030-01-01T00:05:00.123Z",
		"2016-12-31T23:59:60Z":           "2016-12-31T23:59:59.000Z",
	} {
		instant, err := parseInstant(text)
		if err != nil {
			t.Fatal(err)
		}
		if written, _ := Marshal(instant); string(written) != `"`+wanted+`"` {
			t.Errorf("%s became %s", text, written)
		}
	}
}

func TestNotJSON(t *testing.T) {
	for _, text := range []string{
		"", "{", `{"a":1,}`, "{\"a\":\"\xff\"}", "NaN", `{"a":01}`, strings.Repeat("[", 100_000),
	} {
		if !errors.Is(Check([]byte(text)), ErrNotJSON) {
			t.Errorf("%.20s is JSON", text)
		}
	}
}

func TestNoParam(t *testing.T) {
	for _, value := range []any{"\xff", math.NaN(), make(chan int), map[int]int{1: 1}, json.RawMessage("{")} {
		if text, err := Marshal(value); err == nil {
			t.Errorf("%T became %s", value, text)
		}
	}
}

func FuzzMembers(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`[{"a\\":"\\\""},[],{}, "]"]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if Check(data) != nil {
			return
		}
		walk(data)
	})
}

// walk reads all of a checked value.
func walk(data []byte) {
	data = data[skipSpace(data, 0):]
	switch data[0] {
	case '{':
		_ = Members(data, func(_ string, value []byte) error { walk(value); return nil })
	case '[':
		_ = Elements(data, func(value []byte) error { walk(value); return nil })
	case '"':
		_ = Text(data[:skipString(data, 0)])
	}
}
