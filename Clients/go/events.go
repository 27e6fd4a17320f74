package lanyard

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// EventStream brings the events of one subscription to one consumer. It outlives the connection: once an agent runs
// again (the stream starts none), it subscribes again after the last event that it had. What can no longer be told
// shows as one event of the type event.gap.
type EventStream struct {
	client *Client
	feed   *feed

	closing sync.Once
	closed  chan struct{}
	mutex   sync.Mutex
	link    *link
}

// Events subscribes. Without params it brings all events; params.Since continues after the position of an earlier
// stream.
func (c *Client) Events(ctx context.Context, params *EventSubscribeParams) (*EventStream, error) {
	if params == nil {
		params = &EventSubscribeParams{}
	}
	s := &EventStream{client: c, feed: newFeed(*params), closed: make(chan struct{})}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	l, err := s.subscribe(ctx, true)
	if err != nil {
		return nil, err
	}
	s.link = l
	return s, nil
}

// Next waits for the next event. It fails with io.EOF after Close, or when the client is closed. When the context
// ends, it fails with ErrCallTimeout or ErrCancelled, and may be called again. Another error says that the agent
// refuses the subscription.
func (s *EventStream) Next(ctx context.Context) (*Event, error) {
	for attempt := 0; ; {
		select {
		case <-s.closed:
			return nil, io.EOF
		default:
		}
		if event := s.feed.take(); event != nil {
			return event, nil
		}
		err := s.wait(ctx)
		switch {
		case err == nil:
			attempt = 0
			continue
		case errors.Is(err, ErrClientClosed):
			return nil, io.EOF
		case ctx.Err() != nil:
			return nil, contextFailure(ctx.Err(), "no event came in time")
		case !isRetryable(err):
			return nil, err
		}
		s.rest(ctx, pauseAfter(err, attempt))
		attempt++
	}
}

// All gives the events to yield until it returns false, the stream ends, or an error comes. With Go 1.23 and later:
//
//	for event, err := range stream.All(ctx) { … }
func (s *EventStream) All(ctx context.Context) func(yield func(*Event, error) bool) {
	return func(yield func(*Event, error) bool) {
		for {
			event, err := s.Next(ctx)
			if err == io.EOF || !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// Position is the position of the last event that Next returned, for the Since of another stream. Before the first
// event it is where the subscription began.
func (s *EventStream) Position() EventPosition {
	s.feed.mutex.Lock()
	defer s.feed.mutex.Unlock()
	return *s.feed.taken
}

// Close ends the subscription. A consumer that waits in Next gets io.EOF.
func (s *EventStream) Close() error {
	s.closing.Do(func() {
		close(s.closed)
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if s.link != nil && s.link.alive() {
			s.link.unsubscribe(s.feed.name())
		}
	})
	return nil
}

// wait subscribes if it must, and waits for an event or the end of the connection.
func (s *EventStream) wait(ctx context.Context) error {
	s.mutex.Lock()
	l := s.link
	s.mutex.Unlock()
	if l == nil {
		return s.resume(ctx)
	}
	select {
	case <-s.feed.signal:
		return nil
	case <-s.closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.done:
	}
	s.mutex.Lock()
	s.link = nil
	s.mutex.Unlock()
	if s.feed.ready() {
		return nil
	}
	return l.err
}

// resume subscribes on a new connection. Only the first subscription starts an agent: a later one would undo
// `lanyard stop`.
func (s *EventStream) resume(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	go func() {
		select {
		case <-s.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	l, err := s.subscribe(ctx, false)
	if err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.link = l
	select {
	case <-s.closed:
		// Close came first, and did not know this subscription.
		l.unsubscribe(s.feed.name())
	default:
	}
	return nil
}

func (s *EventStream) subscribe(ctx context.Context, starts bool) (*link, error) {
	params, err := encodeParams(s.feed.params())
	if err != nil {
		return nil, err
	}
	_, l, err := s.client.call(ctx, "event.subscribe", params, s.feed, starts)
	return l, err
}

// pauseAfter is the pause before the next attempt: at least what the agent asks for.
func pauseAfter(err error, attempt int) time.Duration {
	duration := pause(attempt)
	var known *Error
	if errors.As(err, &known) {
		if told, ok := known.RetryAfter(); ok && told > duration {
			return told
		}
	}
	return duration
}

// rest waits before the next attempt.
func (s *EventStream) rest(ctx context.Context, duration time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	select {
	case <-ctx.Done():
	case <-s.closed:
	case <-s.client.closed:
	}
}

// isRetryable reports whether a stream may subscribe again.
func isRetryable(err error) bool {
	var known *Error
	return errors.As(err, &known) && (known.Retryable() || known.Name == ErrCancelled)
}
