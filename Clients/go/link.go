package lanyard

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"lanyard.example/go/lanyard/internal/wire"
)

// The agent's default limits (docs/protocol.md, Limits), until its answer to agent.hello names its own.
const (
	defaultRequestsInFlight = 128
	defaultLineBytes        = 64 << 10
	defaultBodyLineBytes    = 1 << 20
)

// maximumStrayEvents is how many events are kept that arrive before the answer with their subscription's id.
const maximumStrayEvents = 1024

// settleTime is how long a failed write waits for the reader to learn why the connection ended.
const settleTime = time.Second

// errNotSent says that a connection had ended before the first byte of a request was sent.
var errNotSent = errors.New("not sent")

// link is one connection. When it ends, the client opens another.
type link struct {
	connection *net.UnixConn
	raw        syscall.RawConn
	// places has room for the requests that may be in flight. Cancelled requests count until they are answered.
	places        chan struct{}
	lineBytes     int
	bodyLineBytes int
	// done is closed when the connection has ended; then err says why.
	done chan struct{}

	mutex       sync.Mutex
	err         error
	lastID      int64
	waiting     map[int64]*pending
	subscribing int
	feeds       map[string]*feed
	strays      []*Event

	writing sync.Mutex
	// outbox holds the lines that the socket did not take at once. While it is not empty, one goroutine writes them.
	outbox []outgoing
}

// pending is a request that waits for its answer.
type pending struct {
	answer chan answer
	// feed gets the events of the subscription in the answer.
	feed *feed
	// abandoned says that no caller waits any more.
	abandoned bool
}

type answer struct {
	result json.RawMessage
	err    error
}

type outgoing struct {
	id    int64
	bytes []byte
	begun bool
}

func newLink(connection *net.UnixConn) (*link, error) {
	raw, err := connection.SyscallConn()
	if err != nil {
		return nil, err
	}
	l := &link{
		connection: connection, raw: raw,
		places:    make(chan struct{}, defaultRequestsInFlight),
		lineBytes: defaultLineBytes, bodyLineBytes: defaultBodyLineBytes,
		done: make(chan struct{}), waiting: map[int64]*pending{}, feeds: map[string]*feed{},
	}
	go l.read()
	return l, nil
}

// obey applies the limits from the answer to agent.hello; what is no limit is passed over. The link has no other
// callers yet.
func (l *link) obey(hello json.RawMessage) {
	var told struct {
		Limits map[string]json.RawMessage `json:"limits,omitempty"`
	}
	if wire.Unmarshal(hello, &told) != nil {
		return
	}
	limit := func(name string, otherwise int) int {
		number, err := strconv.ParseInt(string(told.Limits[name]), 10, 64)
		if err != nil || number <= 0 || number > 1<<30 {
			return otherwise
		}
		return int(number)
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.places = make(chan struct{}, limit("requestsInFlight", defaultRequestsInFlight))
	l.lineBytes = limit("lineBytes", defaultLineBytes)
	l.bodyLineBytes = limit("bodyLineBytes", defaultBodyLineBytes)
}

// alive reports whether the connection is open, as far as the reader knows.
func (l *link) alive() bool {
	select {
	case <-l.done:
		return false
	default:
		return true
	}
}

// call sends a request and waits for its answer. It fails with errNotSent if another connection may be tried.
func (l *link) call(ctx context.Context, method string, params []byte, f *feed) (json.RawMessage, error) {
	select {
	case l.places <- struct{}{}:
	default:
		select {
		case l.places <- struct{}{}:
		case <-ctx.Done():
			return nil, contextFailure(ctx.Err(), "the agent did not take the request in time")
		case <-l.done:
			return nil, errNotSent
		}
	}
	waiting := &pending{answer: make(chan answer, 1), feed: f}
	id, err := l.request(method, params, waiting)
	if err != nil {
		return nil, err
	}
	select {
	case answered := <-waiting.answer:
		return answered.result, answered.err
	case <-ctx.Done():
	}
	if !l.cancel(id, waiting) {
		answered := <-waiting.answer
		return answered.result, answered.err
	}
	return nil, contextFailure(ctx.Err(), "the agent did not answer in time")
}

// request sends a request, which has a place already. `waiting` gets the answer.
func (l *link) request(method string, params []byte, waiting *pending) (int64, error) {
	l.mutex.Lock()
	if l.err != nil {
		l.mutex.Unlock()
		<-l.places
		return 0, errNotSent
	}
	l.lastID++
	id := l.lastID
	line := requestLine(id, method, params)
	limit := l.lineBytes
	if carriesBody(method) {
		limit = l.bodyLineBytes
	}
	if len(line) > limit {
		l.mutex.Unlock()
		<-l.places
		// The agent would close the connection, which other callers may share.
		return 0, failure(ErrRequestTooLarge, "the request has %d bytes; the agent's limit is %d", len(line), limit)
	}
	l.waiting[id] = waiting
	if waiting.feed != nil {
		l.subscribing++
	}
	l.mutex.Unlock()
	if sent, err := l.write(id, line); err != nil {
		return 0, l.writeFailed(sent, err)
	}
	return id, nil
}

func requestLine(id int64, method string, params []byte) []byte {
	line := make([]byte, 0, 64+len(method)+len(params))
	line = append(line, `{"jsonrpc":"2.0","id":`...)
	line = strconv.AppendInt(line, id, 10)
	line = append(line, `,"method":`...)
	name, _ := json.Marshal(method)
	line = append(line, name...)
	if len(params) > 2 { // more than {}
		line = append(append(line, `,"params":`...), params...)
	}
	return append(line, "}\n"...)
}

// cancel gives a request up. False if its answer is there.
func (l *link) cancel(id int64, waiting *pending) bool {
	l.mutex.Lock()
	if l.waiting[id] != waiting {
		l.mutex.Unlock()
		return false
	}
	waiting.abandoned = true
	l.mutex.Unlock()
	if l.unsend(id) {
		l.mutex.Lock()
		l.forget(id, waiting)
		l.mutex.Unlock()
		return true
	}
	// The answer, 1004 or a result, gives the place back.
	_, _ = l.write(0, []byte(`{"jsonrpc":"2.0","method":"$/cancel","params":{"id":`+strconv.FormatInt(id, 10)+"}}\n"))
	return true
}

// forget removes a request and gives its place back. The mutex is held.
func (l *link) forget(id int64, waiting *pending) {
	if l.waiting[id] != waiting {
		return
	}
	delete(l.waiting, id)
	if waiting.feed != nil {
		l.subscribing--
	}
	<-l.places
}

// unsubscribe ends a subscription, and waits for no answer.
func (l *link) unsubscribe(subscription string) {
	l.mutex.Lock()
	delete(l.feeds, subscription)
	l.mutex.Unlock()
	select {
	case l.places <- struct{}{}:
	default:
		return // its events are dropped
	}
	params, err := wire.Marshal(&EventUnsubscribeParams{Subscription: subscription})
	if err != nil {
		<-l.places
		return
	}
	_, _ = l.request("event.unsubscribe", params, &pending{answer: make(chan answer, 1), abandoned: true})
}

// lose ends the connection: every waiting call fails.
func (l *link) lose(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	for id, waiting := range l.waiting {
		l.forget(id, waiting)
		waiting.answer <- answer{err: err}
	}
	l.feeds, l.strays = nil, nil
	close(l.done)
	_ = l.connection.Close()
}

// Reading.

func (l *link) read() {
	lines := framer{from: l.connection}
	for {
		line, err := lines.next()
		if err == nil {
			err = l.lineArrived(line)
		}
		if err != nil {
			var known *Error
			if !errors.As(err, &known) {
				err = wentAway()
			}
			l.lose(err)
			return
		}
	}
}

func wentAway() error { return failure(ErrConnectionLost, "the agent went away") }

func (l *link) lineArrived(line []byte) error {
	if wire.Check(line) != nil {
		return failure(ErrProtocol, "a line of the agent is not JSON")
	}
	if !wire.IsObject(line) {
		return failure(ErrProtocol, "a line of the agent is not an object")
	}
	var id, method, params, result, fault json.RawMessage
	_ = wire.Members(line, func(name string, value []byte) error {
		switch name {
		case "id":
			id = value
		case "method":
			method = value
		case "params":
			params = value
		case "result":
			result = value
		case "error":
			fault = value
		}
		return nil
	})
	switch {
	case method != nil:
		if string(method) == `"event"` {
			return l.eventLineArrived(params)
		}
		return nil
	case id == nil || id[0] == 'n':
		// An error without an id belongs to no call, so some call would wait for ever. End the connection.
		return agentError(fault)
	}
	l.answerArrived(id, result, fault)
	return nil
}

func (l *link) answerArrived(rawID, result, fault json.RawMessage) {
	id, err := strconv.ParseInt(string(rawID), 10, 64)
	if err != nil {
		return
	}
	l.mutex.Lock()
	waiting := l.waiting[id]
	if waiting == nil {
		l.mutex.Unlock()
		return
	}
	l.forget(id, waiting)
	answered := answer{result: result}
	var unwanted string
	switch {
	case fault != nil:
		answered = answer{err: agentError(fault)}
	case result == nil || !wire.IsObject(result):
		answered = answer{err: failure(ErrProtocol, "a result of the agent is not an object")}
	case waiting.feed != nil:
		unwanted, answered.err = l.subscribed(waiting, result)
	}
	l.mutex.Unlock()
	waiting.answer <- answered
	if unwanted != "" {
		// Its caller has given up, so that its events have no reader. The reader itself must not wait for a write.
		go l.unsubscribe(unwanted)
	}
}

// subscribed handles the answer of event.subscribe. It returns a subscription that is not wanted any more. The mutex
// is held.
func (l *link) subscribed(waiting *pending, result json.RawMessage) (unwanted string, err error) {
	var subscribed EventSubscribeResult
	if problem := wire.Unmarshal(result, &subscribed); problem != nil {
		return "", failure(ErrProtocol, "%v", problem)
	}
	if waiting.abandoned {
		return subscribed.Subscription, nil
	}
	waiting.feed.subscribed(&subscribed)
	l.feeds[subscribed.Subscription] = waiting.feed
	strays := l.strays
	l.strays = nil
	for _, event := range strays {
		l.eventArrived(event)
	}
	return "", nil
}

func (l *link) eventLineArrived(params json.RawMessage) error {
	if params == nil {
		return failure(ErrProtocol, "an event of the agent has no params")
	}
	event := &Event{}
	if problem := wire.Unmarshal(params, event); problem != nil {
		return failure(ErrProtocol, "%v", problem)
	}
	l.mutex.Lock()
	l.eventArrived(event)
	l.mutex.Unlock()
	return nil
}

// eventArrived gives an event to its feed. The mutex is held.
func (l *link) eventArrived(event *Event) {
	if feed := l.feeds[event.Subscription]; feed != nil {
		feed.receive(event)
	} else if l.subscribing > 0 && len(l.strays) < maximumStrayEvents {
		l.strays = append(l.strays, event)
	}
}

// Writing. A caller never waits here: what the socket does not take at once goes into the outbox. So a caller that
// gives up never leaves half a line behind.

// write sends a line or queues it. After an error it tells how many bytes were sent.
func (l *link) write(id int64, line []byte) (int, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	if len(l.outbox) > 0 {
		l.outbox = append(l.outbox, outgoing{id: id, bytes: line})
		return 0, nil
	}
	sent, err := l.writeNow(line)
	if err != nil || sent == len(line) {
		return sent, err
	}
	l.outbox = append(l.outbox, outgoing{id, line[sent:], sent > 0})
	go l.flush()
	return sent, nil
}

// writeNow writes what the socket takes without waiting.
func (l *link) writeNow(line []byte) (sent int, err error) {
	controlErr := l.raw.Write(func(descriptor uintptr) bool {
		for {
			sent, err = syscall.Write(int(descriptor), line)
			if err != syscall.EINTR {
				return true
			}
		}
	})
	if controlErr != nil {
		return 0, controlErr
	}
	if err == syscall.EAGAIN {
		return 0, nil
	}
	if sent < 0 {
		sent = 0
	}
	return sent, err
}

// flush writes the outbox until it is empty.
func (l *link) flush() {
	for {
		l.writing.Lock()
		if len(l.outbox) == 0 {
			l.outbox = nil
			l.writing.Unlock()
			return
		}
		l.outbox[0].begun = true
		line := l.outbox[0].bytes
		l.writing.Unlock()
		sent, err := l.connection.Write(line)
		if err != nil {
			_ = l.writeFailed(sent, err)
			return
		}
		l.writing.Lock()
		l.outbox = l.outbox[1:]
		l.writing.Unlock()
	}
}

// unsend removes a request from the outbox, unless a part of it was sent.
func (l *link) unsend(id int64) bool {
	l.writing.Lock()
	defer l.writing.Unlock()
	for index := range l.outbox {
		if l.outbox[index].id == id && !l.outbox[index].begun {
			l.outbox = append(l.outbox[:index:index], l.outbox[index+1:]...)
			return true
		}
	}
	return false
}

// writeFailed ends the link, and returns why: the agent may have sent an error before it closed.
func (l *link) writeFailed(sent int, _ error) error {
	timer := time.NewTimer(settleTime)
	defer timer.Stop()
	select {
	case <-l.done:
	case <-timer.C:
		l.lose(wentAway())
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if sent == 0 && errors.Is(l.err, ErrConnectionLost) {
		return errNotSent
	}
	return l.err
}
