package lanyard

import "lanyard.example/go/lanyard/internal/wire"

// payload reads the data of an event.
func payload[D any](event *EventNotification) (any, error) {
	raw, err := wire.Marshal(event.Data)
	if err != nil {
		return nil, failure(ErrProtocol, "%v", err)
	}
	data, err := read[D](raw)
	if err != nil {
		return nil, err
	}
	return data, nil
}
