package lanyard

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"lanyard.example/go/lanyard/internal/wire"
)

// Version is the version of this client.
const Version = "1.0.0"

// connectTimeout bounds connecting and agent.hello, also each reconnection of an event stream. It is longer than a
// start.
const connectTimeout = 12 * time.Second

// Caller makes calls in the raw way. The generated methods call through it, so that a test may put its own in place
// of a Client.
type Caller interface {
	// Call calls a method with its params as the contract names them, and returns the result as it came.
	Call(ctx context.Context, method string, params any) (json.RawMessage, error)
}

// Client is a connection to the agent, for any number of goroutines.
//
// It connects at the first call and sends agent.hello. If a call finds the connection closed, it connects again. A
// call that was in flight is never sent twice: it fails with ErrConnectionLost. Close a Client that is not needed any
// more.
type Client struct {
	Methods

	socket  string
	start   *bool
	timeout time.Duration
	hello   AgentHelloParams

	connecting chan struct{}
	link       atomic.Pointer[link]
	answered   atomic.Pointer[json.RawMessage]
	closing    sync.Once
	closed     chan struct{}
}

// Option is a setting of NewClient.
type Option func(*Client)

// WithSocket names the agent's socket. Without it the client uses DefaultSocket. No agent is started at a socket that
// is named so, unless WithStart(true) is given, too.
func WithSocket(path string) Option { return func(c *Client) { c.socket = path } }

// WithStart says whether to start the agent where none runs. Without it an agent is started at DefaultSocket only, as
// the commands do. The variable LANYARD_NO_START forbids it in any case.
func WithStart(start bool) Option { return func(c *Client) { c.start = &start } }

// WithTimeout limits every call, besides the deadline of its context. Without it a call lasts as long as the agent
// takes, and ends at once when the agent goes away.
func WithTimeout(timeout time.Duration) Option { return func(c *Client) { c.timeout = timeout } }

// WithGrant brings the secret of a grant, which limits what this client may do.
func WithGrant(grant Secret) Option { return func(c *Client) { c.hello.Grant = grant } }

// WithName is the name and the version by which the agent's audit log calls this program.
func WithName(name, version string) Option {
	return func(c *Client) { c.hello.Client = ClientIdentity{Name: name, Version: version} }
}

// NewClient makes a client. It does not connect yet.
func NewClient(options ...Option) *Client {
	c := &Client{connecting: make(chan struct{}, 1), closed: make(chan struct{})}
	c.Methods = NewMethods(c)
	c.hello.Client = ClientIdentity{Name: "lanyard-go", Version: Version}
	c.hello.Protocol = Ptr(Protocol)
	for _, option := range options {
		option(c)
	}
	return c
}

// Connect connects now, if the client is not connected.
//
// It fails with ErrAgentNotRunning if no agent listens and none may be started, with ErrAgentStartFailed if one could
// not be started, with ErrUntrustedAgent if another user serves the socket, with ErrUnsupportedProtocol, and with
// ErrNotPermitted if the agent does not know the grant.
func (c *Client) Connect(ctx context.Context) error {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	_, err := c.connected(ctx, true)
	return err
}

// Hello returns what the agent told on the latest connection: its name, version, features and limits. It connects, if
// the client has not connected yet.
func (c *Client) Hello(ctx context.Context) (*AgentHelloResult, error) {
	if c.answered.Load() == nil {
		if err := c.Connect(ctx); err != nil {
			return nil, err
		}
	}
	return read[AgentHelloResult](*c.answered.Load())
}

// Call makes a raw call.
//
// The params are what the contract names them: a struct of this package, a map, a json.RawMessage, or nil for none.
// The result is an object, as it came. The error is an *Error.
func (c *Client) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	encoded, err := encodeParams(params)
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	result, _, err := c.call(ctx, method, encoded, nil, true)
	return result, err
}

// Close ends the connection. Calls in flight fail with ErrClientClosed, and streams of events end.
func (c *Client) Close() error {
	c.closing.Do(func() { close(c.closed) })
	c.connecting <- struct{}{}
	defer func() { <-c.connecting }()
	if link := c.link.Load(); link != nil {
		link.lose(clientClosed())
	}
	return nil
}

// String tells nothing of the client's settings: a grant may be among them.
func (c *Client) String() string { return "lanyard.Client" }

// GoString tells nothing of the client's settings.
func (c *Client) GoString() string { return c.String() }

func clientClosed() error { return failure(ErrClientClosed, "the client was closed") }

func encodeParams(params any) ([]byte, error) {
	encoded, err := wire.Marshal(params)
	if err != nil {
		return nil, errors.New("lanyard: " + err.Error())
	}
	if string(encoded) == "null" {
		return nil, nil
	}
	return encoded, nil
}

// invoke makes a typed call, for the generated methods.
func invoke[R any](ctx context.Context, caller Caller, method string, params any) (*R, error) {
	raw, err := caller.Call(ctx, method, params)
	if err != nil {
		return nil, err
	}
	return read[R](raw)
}

// read reads a result of the agent.
func read[R any](raw json.RawMessage) (*R, error) {
	result := new(R)
	if problem := wire.Unmarshal(raw, result); problem != nil {
		return nil, failure(ErrProtocol, "%v", problem)
	}
	return result, nil
}

// limited adds the client's own limit to a context.
func (c *Client) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, c.timeout)
}

// call sends a request over the connection, which it opens if it must. starts is false for a call that is not worth
// starting an agent.
func (c *Client) call(
	ctx context.Context, method string, params []byte, f *feed, starts bool,
) (json.RawMessage, *link, error) {
	for attempt := 0; ; attempt++ {
		l, err := c.connected(ctx, starts)
		if err != nil {
			return nil, nil, err
		}
		result, err := l.call(ctx, method, params, f)
		if err != errNotSent {
			return result, l, err
		}
		// The agent went before a byte of the request was sent. An agent that does so again and again is not tried
		// for ever.
		if attempt == 2 {
			return nil, nil, wentAway()
		}
	}
}

// connected returns the connection, opened if it must be.
func (c *Client) connected(ctx context.Context, starts bool) (*link, error) {
	if l := c.link.Load(); l != nil && l.alive() {
		return l, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, contextFailure(err, "the agent did not accept the connection in time")
	}
	// The agent answers agent.hello at once, or hangs.
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	select {
	case c.connecting <- struct{}{}:
	case <-ctx.Done():
		return nil, contextFailure(ctx.Err(), "the agent did not accept the connection in time")
	case <-c.closed:
		return nil, clientClosed()
	}
	defer func() { <-c.connecting }()
	if l := c.link.Load(); l != nil && l.alive() {
		return l, nil
	}
	select {
	case <-c.closed:
		return nil, clientClosed()
	default:
	}
	go func() {
		select {
		case <-c.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	l, err := c.open(ctx, starts)
	if err == nil {
		c.link.Store(l)
		return l, nil
	}
	select {
	case <-c.closed:
		return nil, clientClosed()
	default:
	}
	if ctx.Err() != nil && !errors.Is(err, ErrAgentStartFailed) {
		return nil, contextFailure(ctx.Err(), "the agent did not accept the connection in time")
	}
	return nil, err
}

// open opens a connection and sends agent.hello.
func (c *Client) open(ctx context.Context, starts bool) (*link, error) {
	path := c.socket
	if path == "" {
		var err error
		if path, err = DefaultSocket(); err != nil {
			return nil, err
		}
	}
	mayStart := c.socket == ""
	if c.start != nil {
		mayStart = *c.start
	}
	connection, err := dialOrStart(ctx, path, starts && mayStart && !startingIsForbidden())
	if err != nil {
		return nil, err
	}
	l, err := newLink(connection)
	if err != nil {
		return nil, notRunning(path, err)
	}
	if err := c.greet(ctx, l); err != nil {
		l.lose(wentAway())
		return nil, err
	}
	return l, nil
}

func (c *Client) greet(ctx context.Context, l *link) error {
	params, err := encodeParams(&c.hello)
	if err != nil {
		return err
	}
	raw, err := l.call(ctx, "agent.hello", params, nil)
	if err == errNotSent {
		return wentAway()
	}
	if err != nil {
		return err
	}
	l.obey(raw)
	c.answered.Store(&raw)
	return nil
}
