package lanyard

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

const subscribedJSON = `{"subscription":"sub-1","epoch":"epoch-1","sequence":0,"gap":false}`

func subscribed(t *testing.T, params *EventSubscribeParams) (*fakeAgent, *EventStream, request) {
	t.Helper()
	agent := newFakeAgent(t)
	client := agent.client()
	asked := make(chan request, 1)
	go func() {
		r := <-agent.requests
		r.answer(subscribedJSON)
		asked <- r
	}()
	stream, err := client.Events(testContext(t), params)
	ok(t, err)
	return agent, stream, <-asked
}

func next(t *testing.T, stream *EventStream) *Event {
	t.Helper()
	event, err := stream.Next(testContext(t))
	ok(t, err)
	return event
}

func TestStreamResumesAfterTheLastEvent(t *testing.T) {
	agent, stream, r := subscribed(t, &EventSubscribeParams{Types: []EventType{EventTypeSessionExpired}})
	r.peer.event("sub-1", "4", "session.expired", `{"reason":"reused"}`)
	data, err := next(t, stream).Payload()
	ok(t, err)
	same(t, data.(*SessionExpiredData).Reason, "reused")
	same(t, stream.Position(), EventPosition{Epoch: "epoch-1", Sequence: 4})
	agent.hangUp()
	go func() {
		again := agent.next("event.subscribe")
		if string(again.Params["since"]) != `{"epoch":"epoch-1","sequence":4}` {
			t.Errorf("since is %s", again.Params["since"])
		}
		again.answer(strings.Replace(subscribedJSON, "sub-1", "sub-2", 1))
		again.peer.event("sub-2", "4", "session.expired", `{"reason":"reused"}`)
		again.peer.event("sub-2", "5", "ofLater", `{"x":1}`)
	}()
	event := next(t, stream)
	same(t, event.Sequence, 5)
	data, err = event.Payload()
	same(t, data == nil && err == nil, true)
}

func TestGapIsOneEvent(t *testing.T) {
	agent, stream, _ := subscribed(t, nil)
	agent.hangUp()
	go func() {
		again := agent.next("event.subscribe")
		again.answer(`{"subscription":"sub-2","epoch":"epoch-2","sequence":9,"gap":false}`)
		again.peer.raw(`{"jsonrpc":"2.0","method":"event","params":{"subscription":"sub-2","epoch":"epoch-2",` +
			`"sequence":10,"type":"agent.locked","at":"2030-01-01T00:00:00.000Z","data":{}}}` + "\n")
	}()
	same(t, next(t, stream).Type, EventTypeEventGap)
	same(t, next(t, stream).Type, EventTypeAgentLocked)
}

func TestSlowConsumerGetsAGapForTheOldest(t *testing.T) {
	f := newFeed(EventSubscribeParams{})
	f.subscribed(&EventSubscribeResult{Subscription: "s", Epoch: "e"})
	for sequence := int64(1); sequence <= maximumQueuedEvents+5; sequence++ {
		f.receive(&Event{Subscription: "s", Epoch: "e", Sequence: sequence, Type: "x"})
	}
	same(t, len(f.queue), maximumQueuedEvents)
	gap := f.take()
	data, err := gap.Payload()
	ok(t, err)
	same(t, data.(*EventGapData).From, 1)
	same(t, data.(*EventGapData).To, 6)
	// A stream that begins at the gap misses what was dropped, and nothing else.
	same(t, *f.taken, EventPosition{Epoch: "e", Sequence: 6})
	same(t, f.take().Sequence, 7)
}

func TestPositionIsThatOfTheConsumer(t *testing.T) {
	_, stream, r := subscribed(t, nil)
	for sequence := 1; sequence <= 3; sequence++ {
		r.peer.event("sub-1", fmt.Sprint(sequence), "agent.locked", "{}")
	}
	next(t, stream)
	time.Sleep(20 * time.Millisecond) // the others arrive
	same(t, stream.Position().Sequence, 1)
}

func TestNextEndsWithItsContextAndGoesOn(t *testing.T) {
	_, stream, r := subscribed(t, nil)
	short, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err := stream.Next(short)
	is(t, err, ErrCallTimeout)
	r.peer.event("sub-1", "1", "agent.locked", "{}")
	same(t, next(t, stream).Sequence, 1)
}

func TestCloseEndsTheStreamHereAndInTheAgent(t *testing.T) {
	agent, stream, _ := subscribed(t, nil)
	ended := make(chan error, 1)
	go func() {
		_, err := stream.Next(context.Background())
		ended <- err
	}()
	ok(t, stream.Close())
	is(t, <-ended, io.EOF)
	same(t, agent.next("event.unsubscribe").param("subscription"), "sub-1")
	ok(t, stream.Close())
}

func TestClosedClientEndsItsStreams(t *testing.T) {
	_, stream, _ := subscribed(t, nil)
	ok(t, stream.client.Close())
	_, err := stream.Next(testContext(t))
	is(t, err, io.EOF)
}

func TestAbandonedSubscriptionIsEndedInTheAgent(t *testing.T) {
	agent := newFakeAgent(t)
	agent.on("$/cancel", func(request) {})
	ctx, cancel := context.WithCancel(testContext(t))
	failed := make(chan error, 1)
	client := agent.client()
	go func() {
		_, err := client.Events(ctx, nil)
		failed <- err
	}()
	r := agent.next("event.subscribe")
	cancel()
	is(t, <-failed, ErrCancelled)
	r.answer(subscribedJSON)
	same(t, agent.next("event.unsubscribe").param("subscription"), "sub-1")
}

func TestAllStopsWithItsConsumer(t *testing.T) {
	_, stream, r := subscribed(t, nil)
	for sequence := 1; sequence <= 3; sequence++ {
		r.peer.event("sub-1", fmt.Sprint(sequence), "agent.locked", "{}")
	}
	count := 0
	stream.All(testContext(t))(func(event *Event, err error) bool {
		ok(t, err)
		count++
		return count < 2
	})
	same(t, count, 2)
	same(t, next(t, stream).Sequence, 3)
}
