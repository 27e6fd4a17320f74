// Command conformance drives the client as Clients/conformance/README.md says: commands on standard input, answers on
// standard output.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"lanyard.example/go/lanyard"
	"lanyard.example/go/lanyard/internal/wire"
)

// command is a line of standard input.
type command struct {
	Do        string          `json:"do"`
	ID        string          `json:"id"`
	Of        string          `json:"of"`
	Client    string          `json:"client"`
	Socket    string          `json:"socket"`
	Start     *bool           `json:"start"`
	Grant     string          `json:"grant"`
	Name      string          `json:"name"`
	Version   string          `json:"version"`
	TimeoutMs int64           `json:"timeoutMs"`
	Connect   bool            `json:"connect"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`

	Types    []lanyard.EventType `json:"types"`
	Accounts []string            `json:"accounts"`
	Since    json.RawMessage     `json:"since"`

	Account  string   `json:"account"`
	Origins  []string `json:"origins"`
	URL      string   `json:"url"`
	Body     *string  `json:"body"`
	Scopes   []string `json:"scopes"`
	Resource string   `json:"resource"`

	Count   int `json:"count"`
	Callers int `json:"callers"`
}

var errUnknownMethod = errors.New("there is no such method")

// driver has what earlier commands made, by its name or by the command's id.
type driver struct {
	mutex   sync.Mutex
	clients map[string]*lanyard.Client
	calls   map[string]context.CancelFunc
	shown   map[string]any
	streams map[string]*lanyard.EventStream
	out     *bufio.Writer
}

func main() {
	d := &driver{
		clients: map[string]*lanyard.Client{}, calls: map[string]context.CancelFunc{}, shown: map[string]any{},
		streams: map[string]*lanyard.EventStream{}, out: bufio.NewWriter(os.Stdout),
	}
	runtime.GOMAXPROCS(1)
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			var c command
			if json.Unmarshal(line, &c) != nil {
				os.Exit(64)
			}
			d.begin(&c)
			// On one processor this lets the command run until it waits, so that requests are sent in the order of
			// commands.
			runtime.Gosched()
		}
		if err != nil {
			break
		}
	}
	d.mutex.Lock()
	clients := d.clients
	d.mutex.Unlock()
	for _, client := range clients {
		_ = client.Close()
	}
}

// begin begins a command. What later commands refer to is there when it returns.
func (d *driver) begin(c *command) {
	switch c.Do {
	case "open":
		client := opened(c)
		d.mutex.Lock()
		d.clients[c.Client] = client
		d.mutex.Unlock()
		go d.finish(c, func() (any, error) { return connected(c, client) })
	case "call", "typed":
		ctx, cancel := context.WithCancel(context.Background())
		d.mutex.Lock()
		d.calls[c.ID] = cancel
		d.mutex.Unlock()
		go d.finish(c, func() (any, error) { return d.call(ctx, c) })
	case "cancel":
		d.mutex.Lock()
		cancel := d.calls[c.Of]
		d.mutex.Unlock()
		if cancel != nil {
			cancel()
		}
		d.finish(c, func() (any, error) { return struct{}{}, nil })
	case "show":
		d.finish(c, func() (any, error) { return map[string]string{"text": printed(d.of(c.Of))}, nil })
	case "events":
		go d.events(c)
	case "position":
		d.finish(c, func() (any, error) { return d.stream(c.Of).Position(), nil })
	case "stop":
		go d.finish(c, func() (any, error) { return struct{}{}, d.stream(c.Of).Close() })
	case "http":
		go d.finish(c, func() (any, error) { return fetched(c, d.client(c.Client)) })
	case "load":
		go d.finish(c, func() (any, error) { return loaded(c, d.client(c.Client)) })
	case "close":
		go d.finish(c, func() (any, error) { return struct{}{}, d.client(c.Client).Close() })
	}
}

func opened(c *command) *lanyard.Client {
	var options []lanyard.Option
	if c.Socket != "" {
		options = append(options, lanyard.WithSocket(c.Socket))
	}
	if c.Start != nil {
		options = append(options, lanyard.WithStart(*c.Start))
	}
	if c.Grant != "" {
		options = append(options, lanyard.WithGrant(lanyard.NewSecret(c.Grant)))
	}
	if c.Name != "" {
		options = append(options, lanyard.WithName(c.Name, c.Version))
	}
	if c.TimeoutMs > 0 {
		options = append(options, lanyard.WithTimeout(time.Duration(c.TimeoutMs)*time.Millisecond))
	}
	return lanyard.NewClient(options...)
}

func connected(c *command, client *lanyard.Client) (any, error) {
	if !c.Connect {
		return struct{}{}, nil
	}
	if err := client.Connect(context.Background()); err != nil {
		return nil, err
	}
	hello, err := client.Hello(context.Background())
	if err != nil {
		// The connection serves calls also if the agent told odd limits.
		return struct{}{}, nil
	}
	return hello, nil
}

func (d *driver) call(ctx context.Context, c *command) (any, error) {
	if c.TimeoutMs > 0 {
		limited, cancel := context.WithTimeout(ctx, time.Duration(c.TimeoutMs)*time.Millisecond)
		defer cancel()
		ctx = limited
	}
	client := d.client(c.Client)
	if c.Do == "call" {
		if len(c.Params) == 0 {
			return client.Call(ctx, c.Method, nil)
		}
		return client.Call(ctx, c.Method, c.Params)
	}
	result, err := callTyped(ctx, client, c.Method, c.Params)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if err != nil {
		d.shown[c.ID] = err
		return nil, err
	}
	d.shown[c.ID] = result
	return result, nil
}

// callWith reads params into their type and calls a generated method.
func callWith[P, R any](
	ctx context.Context, raw json.RawMessage, method func(context.Context, *P) (*R, error),
) (any, error) {
	var params *P
	if len(raw) > 0 {
		params = new(P)
		if err := wire.Unmarshal(raw, params); err != nil {
			return nil, err
		}
	}
	result, err := method(ctx, params)
	if err != nil {
		return nil, err
	}
	return result, nil
}

func (d *driver) events(c *command) {
	params := &lanyard.EventSubscribeParams{Types: c.Types, Accounts: c.Accounts}
	if len(c.Since) > 0 {
		params.Since = &lanyard.EventPosition{}
		if err := wire.Unmarshal(c.Since, params.Since); err != nil {
			d.say(c.ID, "error", described(err))
			return
		}
	}
	stream, err := d.client(c.Client).Events(context.Background(), params)
	if err != nil {
		d.say(c.ID, "error", described(err))
		return
	}
	d.mutex.Lock()
	d.streams[c.ID] = stream
	d.mutex.Unlock()
	d.say(c.ID, "result", struct{}{})
	for {
		event, err := stream.Next(context.Background())
		switch {
		case err == io.EOF:
			d.say(c.ID, "ended", true)
			return
		case err != nil:
			d.say(c.ID, "error", described(err))
			return
		}
		d.say(c.ID, "event", event)
	}
}

// finish ends a command with what its body returns.
func (d *driver) finish(c *command, body func() (any, error)) {
	result, err := body()
	if err != nil {
		d.say(c.ID, "error", described(err))
		return
	}
	d.say(c.ID, "result", result)
}

func (d *driver) say(id, name string, value any) {
	line, err := wire.Marshal(map[string]any{"id": id, name: value})
	if err != nil {
		panic(err)
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	_, _ = d.out.Write(append(line, '\n'))
	_ = d.out.Flush()
}

func (d *driver) client(name string) *lanyard.Client {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.clients[name]
}

func (d *driver) stream(id string) *lanyard.EventStream {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.streams[id]
}

func (d *driver) of(id string) any {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.shown[id]
}
