package lanyard

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"lanyard.example/go/lanyard/internal/wire"
)

// ErrorName is the stable name of an error, for errors.Is:
//
//	if errors.Is(err, lanyard.ErrSignedOut) { … }
//
// There is a constant for each error of the contract and for each failure of the client. An error that only a newer
// agent knows is matched by ErrorName("itsName").
type ErrorName string

// Error returns the name.
func (n ErrorName) Error() string { return "lanyard: " + string(n) }

// Failures of the client. They have no code.
const (
	// ErrAgentNotRunning says that no agent accepts connections at the socket. It may succeed later.
	ErrAgentNotRunning ErrorName = "agentNotRunning"
	// ErrAgentStartFailed says that no agent runs, and none could be started; the message says why. Such an error is
	// ErrAgentNotRunning, too.
	ErrAgentStartFailed ErrorName = "agentStartFailed"
	// ErrCallTimeout says that the deadline of the context, or the client's own, ended the call; the client cancelled
	// the request. Such an error is context.DeadlineExceeded, too.
	ErrCallTimeout ErrorName = "callTimeout"
	// ErrCancelled says that the caller's context was cancelled; the client cancelled the request. Such an error is
	// context.Canceled, too.
	ErrCancelled ErrorName = "cancelled"
	// ErrClientClosed says that the client was used after Close.
	ErrClientClosed ErrorName = "clientClosed"
	// ErrConnectionLost says that the connection ended during the call, which may have taken effect.
	ErrConnectionLost ErrorName = "connectionLost"
	// ErrProtocol says that the agent violates the contract. The message names the place, never the value.
	ErrProtocol ErrorName = "protocolError"
	// ErrRequestTooLarge says that the request is longer than the agent's limit. It was not sent.
	ErrRequestTooLarge ErrorName = "requestTooLarge"
	// ErrUntrustedAgent says that another user serves the socket. Nothing was sent.
	ErrUntrustedAgent ErrorName = "untrustedAgent"
	// ErrOriginRefused says that Transport has no origin that covers the URL of a request. Nothing was sent.
	ErrOriginRefused ErrorName = "originRefused"
)

// Error is an error that the agent answered, or a failure of the client. All errors of a call are found in this form
// by errors.As; those of the contract also as the type of their own, such as *SignedOutError.
//
// The text holds nothing of Data or of the request, and the agent never echoes input, so that an error may be logged.
type Error struct {
	// Code is the error's code in JSON-RPC; 0 for a failure of the client.
	Code int64
	// Name is the stable name, such as reauthenticationRequired.
	Name ErrorName
	// Message is for a person: what happened, what was kept, what to do.
	Message string
	// Data is what the agent told about the error, by the names on the wire.
	Data map[string]json.RawMessage

	cause error
}

// base lets an error with a type of its own embed an Error: a field with the name Error would hide the method.
type base = Error

// Error gives the message, the name and the code.
func (e *Error) Error() string {
	label := string(e.Name)
	if e.Code != 0 {
		label += " (" + strconv.FormatInt(e.Code, 10) + ")"
	}
	if e.Message == "" {
		return "lanyard: " + label
	}
	return "lanyard: " + e.Message + " [" + label + "]"
}

// Is reports whether target is the ErrorName of this error.
func (e *Error) Is(target error) bool {
	name, ok := target.(ErrorName)
	if !ok {
		return false
	}
	return e.Name == name || e.Code != 0 && codeNames[e.Code] == name ||
		e.Name == ErrAgentStartFailed && name == ErrAgentNotRunning
}

// Unwrap returns context.DeadlineExceeded or context.Canceled, if the context ended the call.
func (e *Error) Unwrap() error { return e.cause }

// Timeout reports whether a deadline ended the call, as net.Error tells it.
func (e *Error) Timeout() bool { return e.Name == ErrCallTimeout }

// Retryable reports whether the same call may succeed later without any action.
func (e *Error) Retryable() bool {
	if e.Code == 0 {
		return e.Name == ErrAgentNotRunning || e.Name == ErrConnectionLost || e.Name == ErrCallTimeout
	}
	var retryable bool
	return e.read("retryable", &retryable) && retryable
}

// RetryAfter is the pause before the next try that the agent asks for; false if it asks for none.
func (e *Error) RetryAfter() (time.Duration, bool) {
	var milliseconds int64
	ok := e.read("retryAfterMs", &milliseconds)
	return time.Duration(milliseconds) * time.Millisecond, ok
}

// Reason is the cause within this error for programs, such as outcomeUnknown; empty if the agent tells none.
func (e *Error) Reason() string {
	var reason string
	e.read("reason", &reason)
	return reason
}

// Remedies is what would help, in the order in which to try it.
func (e *Error) Remedies() []Remedy {
	var told []json.RawMessage
	e.read("remedies", &told)
	var remedies []Remedy
	for _, remedy := range told {
		if remedy[0] == '"' {
			remedies = append(remedies, Remedy(wire.Text(remedy)))
		}
	}
	return remedies
}

// Account is the id of the account that the error is about; empty if there is none.
func (e *Error) Account() string {
	var account string
	e.read("account", &account)
	return account
}

// read reads a member of Data, if it is there and of the right type.
func (e *Error) read(name string, into any) bool {
	raw, ok := e.Data[name]
	return ok && !wire.IsNull(raw) && json.Unmarshal(raw, into) == nil
}

func failure(name ErrorName, format string, values ...any) *Error {
	return &Error{Name: name, Message: fmt.Sprintf(format, values...)}
}

// contextFailure is the failure of a call whose context has ended.
func contextFailure(cause error, what string) *Error {
	name := ErrCallTimeout
	if cause == context.Canceled {
		name, what = ErrCancelled, "the call was cancelled"
	}
	return &Error{Name: name, Message: what, cause: cause}
}

// agentError makes an error of an error object (JSON-RPC 2.0, section 5.1).
func agentError(raw json.RawMessage) error {
	if len(raw) == 0 || !wire.IsObject(raw) {
		return failure(ErrProtocol, "an error of the agent is not an object")
	}
	var answered struct {
		Code    *int64          `json:"code,omitempty"`
		Message json.RawMessage `json:"message,omitempty"`
		Data    json.RawMessage `json:"data,omitempty"`
	}
	if wire.Unmarshal(raw, &answered) != nil || answered.Code == nil {
		return failure(ErrProtocol, "an error of the agent has no code")
	}
	told := &Error{Code: *answered.Code, Name: codeNames[*answered.Code], Data: map[string]json.RawMessage{}}
	if len(answered.Message) > 0 && answered.Message[0] == '"' {
		told.Message = wire.Text(answered.Message)
	}
	if len(answered.Data) > 0 && wire.IsObject(answered.Data) {
		_ = wire.Members(answered.Data, func(name string, value []byte) error {
			told.Data[name] = value
			return nil
		})
	}
	var name string
	if told.read("name", &name) {
		told.Name = ErrorName(name)
	}
	if told.Name == "" {
		told.Name = "error"
	}
	return typedError(told)
}
