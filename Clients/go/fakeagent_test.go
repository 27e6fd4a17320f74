package lanyard

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

const patience = 10 * time.Second

const helloJSON = `{"agent":{"name":"fake-agent","version":"0"},"protocol":"1","instance":"instance-1",` +
	`"schemaDigest":"digest","features":[],"limits":{"lineBytes":65536,"bodyLineBytes":1048576,"nesting":64,` +
	`"requestsInFlight":128,"connections":1024,"lineSeconds":10,"eventBacklogBytes":1048576}}`

const tokenJSON = `{"accessToken":"secret-access-token","tokenType":"Bearer",` +
	`"expiresAt":"2030-01-01T00:05:00.000Z","expiresInSeconds":300,` +
	`"account":"acc_alice","issuer":"https://idp.example","scopes":["openid"],"source":"cache",` +
	`"fingerprint":"f1","generation":1}`

// request is what a client sent.
type request struct {
	ID     json.RawMessage            `json:"id"`
	Method string                     `json:"method"`
	Params map[string]json.RawMessage `json:"params"`
	peer   *fakePeer
}

func (r request) param(name string) string {
	var text string
	_ = json.Unmarshal(r.Params[name], &text)
	return text
}

func (r request) answer(result string) {
	r.peer.raw(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":` + result + "}\n")
}

func (r request) fail(code, data string) {
	r.peer.raw(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"error":{"code":` + code + `,"message":"about it","data":` +
		data + "}}\n")
}

// fakePeer is one client of the fake agent.
type fakePeer struct {
	connection net.Conn
}

func (p *fakePeer) raw(text string) { _, _ = p.connection.Write([]byte(text)) }

func (p *fakePeer) event(subscription, sequence, kind, data string) {
	p.raw(`{"jsonrpc":"2.0","method":"event","params":{"subscription":"` + subscription + `","epoch":"epoch-1",` +
		`"sequence":` + sequence + `,"type":"` + kind + `","at":"2030-01-01T00:00:00.000Z","data":` + data + "}}\n")
}

// fakeAgent is a scripted agent on a real socket. It answers agent.hello by itself, and other methods by handlers;
// what has no handler waits in requests.
type fakeAgent struct {
	t        testing.TB
	path     string
	listener net.Listener
	requests chan request

	mutex    sync.Mutex
	handlers map[string]func(request)
	peers    []*fakePeer
}

func newFakeAgent(t testing.TB) *fakeAgent {
	t.Helper()
	directory, err := os.MkdirTemp("", "lanyard-")
	if err != nil {
		t.Fatal(err)
	}
	a := &fakeAgent{
		t: t, path: filepath.Join(directory, "agent.sock"), requests: make(chan request, 100_000),
		handlers: map[string]func(request){},
	}
	a.on("agent.hello", func(r request) { r.answer(helloJSON) })
	a.listen()
	t.Cleanup(func() {
		a.die()
		_ = os.RemoveAll(directory)
	})
	return a
}

func (a *fakeAgent) on(method string, handler func(request)) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.handlers[method] = handler
}

func (a *fakeAgent) listen() {
	listener, err := net.Listen("unix", a.path)
	if err != nil {
		a.t.Fatal(err)
	}
	a.listener = listener
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			peer := &fakePeer{connection}
			a.mutex.Lock()
			a.peers = append(a.peers, peer)
			a.mutex.Unlock()
			go a.serve(peer)
		}
	}()
}

func (a *fakeAgent) serve(peer *fakePeer) {
	lines := bufio.NewReader(peer.connection)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		r := request{peer: peer}
		if err := json.Unmarshal(line, &r); err != nil {
			a.t.Errorf("the client sent what is not JSON: %v", err)
			return
		}
		a.mutex.Lock()
		handler := a.handlers[r.Method]
		a.mutex.Unlock()
		if handler != nil {
			handler(r)
		} else {
			a.requests <- r
		}
	}
}

// die ends as a process that is killed.
func (a *fakeAgent) die() {
	_ = a.listener.Close()
	a.hangUp()
}

func (a *fakeAgent) hangUp() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, peer := range a.peers {
		_ = peer.connection.Close()
	}
	a.peers = nil
}

// next is the next request without a handler; it must be of this method.
func (a *fakeAgent) next(method string) request {
	a.t.Helper()
	select {
	case r := <-a.requests:
		if r.Method != method {
			a.t.Fatalf("the client sent %s, not %s", r.Method, method)
		}
		return r
	case <-time.After(patience):
		a.t.Fatalf("the client did not send %s", method)
	}
	return request{}
}

func (a *fakeAgent) client(options ...Option) *Client {
	client := NewClient(append([]Option{WithSocket(a.path)}, options...)...)
	a.t.Cleanup(func() { _ = client.Close() })
	return client
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// is fails the test unless errors.Is finds the target.
func is(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("the error is %v, not %v", err, target)
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same[T comparable](t testing.TB, found, wanted T) {
	t.Helper()
	if found != wanted {
		t.Fatalf("found %v, wanted %v", found, wanted)
	}
}
