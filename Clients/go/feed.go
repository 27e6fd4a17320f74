package lanyard

import (
	"encoding/json"
	"strconv"
	"sync"
	"time"
)

// maximumQueuedEvents is how many events are kept for a slow consumer. Beyond this, an event.gap replaces the oldest.
const maximumQueuedEvents = 10_000

// Event is one event of a subscription. Payload gives its data by the type of the event.
type Event = EventNotification

// feed holds the events of one subscription, over any number of connections.
//
// After a reconnection it asks for the events since the last one that arrived. If the agent no longer has them, an
// event of type event.gap takes their place.
type feed struct {
	mutex        sync.Mutex
	wanted       EventSubscribeParams
	subscription string
	// arrived is the position of the last event that arrived, taken that of the last one that the consumer took.
	arrived, taken *EventPosition
	// known is the position up to which a replay repeats what arrived before.
	known  *EventPosition
	queue  []*Event
	signal chan struct{}
}

func newFeed(wanted EventSubscribeParams) *feed {
	f := &feed{wanted: wanted, signal: make(chan struct{}, 1)}
	if wanted.Since != nil {
		since := *wanted.Since
		f.arrived, f.taken = &since, &since
	}
	return f
}

// params are the params of the next event.subscribe.
func (f *feed) params() *EventSubscribeParams {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	params := f.wanted
	params.Since = f.arrived
	return &params
}

// subscribed handles the answer of event.subscribe.
func (f *feed) subscribed(result *EventSubscribeResult) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.subscription = result.Subscription
	resumed := f.arrived != nil
	if resumed && !result.Gap && f.arrived.Epoch == result.Epoch {
		// The replay may begin with events that arrived already.
		f.known = f.arrived
		return
	}
	var from int64
	if resumed && f.arrived.Epoch == result.Epoch {
		from = f.arrived.Sequence + 1
	}
	f.arrived, f.known = &EventPosition{Epoch: result.Epoch, Sequence: result.Sequence}, nil
	if resumed {
		f.push(f.gap(from, f.arrived))
	} else {
		f.taken = f.arrived
	}
}

// receive queues an event, unless it arrived before.
func (f *feed) receive(event *Event) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.known != nil && event.Epoch == f.known.Epoch && event.Sequence <= f.known.Sequence {
		return
	}
	f.arrived = &EventPosition{Epoch: event.Epoch, Sequence: event.Sequence}
	f.push(event)
	if len(f.queue) > maximumQueuedEvents {
		first, last := f.queue[0], f.queue[1]
		from := first.Sequence
		if data, err := first.Payload(); err == nil {
			if earlier, ok := data.(*EventGapData); ok {
				from = earlier.From
			}
		}
		f.queue[0] = nil
		f.queue = f.queue[1:]
		f.queue[0] = f.gap(from, &EventPosition{Epoch: last.Epoch, Sequence: last.Sequence})
	}
}

func (f *feed) push(event *Event) {
	f.queue = append(f.queue, event)
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

// take removes the oldest event; nil if there is none.
func (f *feed) take() *Event {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if len(f.queue) == 0 {
		return nil
	}
	event := f.queue[0]
	f.queue[0] = nil
	f.queue = f.queue[1:]
	f.taken = &EventPosition{Epoch: event.Epoch, Sequence: event.Sequence}
	return event
}

// gap is the event that stands for those from a sequence up to a position.
func (f *feed) gap(from int64, until *EventPosition) *Event {
	if from > until.Sequence {
		from = until.Sequence
	}
	return &Event{
		Subscription: f.subscription, Epoch: until.Epoch, Sequence: until.Sequence,
		Type: EventTypeEventGap, At: time.Now().UTC().Truncate(time.Millisecond),
		Data: map[string]json.RawMessage{"from": number(from), "to": number(until.Sequence)},
	}
}

func number(value int64) json.RawMessage { return strconv.AppendInt(nil, value, 10) }

// name is the id of the latest subscription.
func (f *feed) name() string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.subscription
}

func (f *feed) ready() bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return len(f.queue) > 0
}
