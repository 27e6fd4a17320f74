package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"reflect"

	"lanyard.example/go/lanyard"
)

// described is an error as the README of the conformance run wants it.
func described(err error) map[string]any {
	var told *lanyard.Error
	if !errors.As(err, &told) {
		return map[string]any{
			"kind": "protocolError", "name": "protocolError", "message": "not an error of the client",
			"retryable": false, "remedies": []string{}, "data": struct{}{},
		}
	}
	found := map[string]any{
		"kind": string(told.Name), "name": string(told.Name), "message": told.Message, "retryable": told.Retryable(),
		"data": told.Data,
	}
	if told.Data == nil {
		found["data"] = struct{}{}
	}
	remedies := []string{}
	for _, remedy := range told.Remedies() {
		remedies = append(remedies, string(remedy))
	}
	found["remedies"] = remedies
	if told.Code != 0 {
		found["kind"], found["code"] = "agent", told.Code
	}
	if pause, ok := told.RetryAfter(); ok {
		found["retryAfterMs"] = pause.Milliseconds()
	}
	if reason := told.Reason(); reason != "" {
		found["reason"] = reason
	}
	if account := told.Account(); account != "" {
		found["account"] = account
	}
	return found
}

// holder is what a program may have: a value in a field that fmt prints without asking its methods.
type holder struct{ value any }

// printed is a value in each way that a program may print it.
func printed(value any) string {
	var text bytes.Buffer
	shown := []any{value, holder{value}, []any{value}}
	if direct := reflect.ValueOf(value); direct.Kind() == reflect.Pointer && !direct.IsNil() {
		shown = append(shown, direct.Elem().Interface(), holder{direct.Elem().Interface()})
	}
	for _, one := range shown {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} {
			fmt.Fprintf(&text, verb+"\n", one)
		}
		log.New(&text, "", 0).Println(one)
		encoded, err := json.Marshal(one)
		fmt.Fprintln(&text, string(encoded), err)
	}
	return text.String()
}
