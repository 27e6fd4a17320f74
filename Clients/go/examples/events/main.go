// Command events prints the events of all accounts until it is interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"

	"lanyard.example/go/lanyard"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client := lanyard.NewClient(lanyard.WithName("events", "1"))
	defer func() { _ = client.Close() }()
	stream, err := client.Events(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	for {
		event, err := stream.Next(ctx)
		if errors.Is(err, context.Canceled) {
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		account := "-"
		if event.Account != nil {
			account = *event.Account
		}
		fmt.Println(event.At.Format("15:04:05"), event.Type, account)
	}
}
