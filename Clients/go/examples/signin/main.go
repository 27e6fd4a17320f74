// Command signin signs a person in on another device: signin PROVIDER
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"lanyard.example/go/lanyard"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: signin PROVIDER")
	}
	ctx := context.Background()
	client := lanyard.NewClient(lanyard.WithName("signin", "1"))
	defer func() { _ = client.Close() }()
	begun, err := client.SignIn.Begin(ctx, &lanyard.SignInBeginParams{
		Provider: os.Args[1], Flow: lanyard.SignInFlowDevice,
	})
	if err != nil {
		log.Fatal(err)
	}
	if begun.VerificationURI != nil && begun.UserCode != nil {
		fmt.Println("Open", *begun.VerificationURI, "and enter", *begun.UserCode)
	}
	ended, err := client.SignIn.Wait(ctx, &lanyard.SignInWaitParams{
		SignIn: begun.SignIn, TimeoutSeconds: lanyard.Ptr[int64](300),
	})
	if err != nil {
		log.Fatal(err)
	}
	if ended.Account != nil {
		fmt.Println("Signed in:", *ended.Account)
	}
}
