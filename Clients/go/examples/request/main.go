// Command request sends a GET with the token of an account: request ACCOUNT URL
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"

	"lanyard.example/go/lanyard"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: request ACCOUNT URL")
	}
	address, err := url.Parse(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	client := lanyard.NewClient(lanyard.WithName("request", "1"))
	defer func() { _ = client.Close() }()
	browser := &http.Client{Transport: &lanyard.Transport{
		Client: client, Account: os.Args[1], Origins: []string{address.Scheme + "://" + address.Host},
	}}
	response, err := browser.Get(address.String())
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	fmt.Fprintln(os.Stderr, response.Status)
	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		log.Fatal(err)
	}
}
