package main

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"lanyard.example/go/lanyard"
)

// fetched sends a request by Transport.
func fetched(c *command, client *lanyard.Client) (any, error) {
	var body io.Reader
	if c.Body != nil {
		body = strings.NewReader(*c.Body)
	}
	request, err := http.NewRequest(c.Method, c.URL, body)
	if err != nil {
		return nil, err
	}
	browser := &http.Client{Transport: &lanyard.Transport{
		Client: client, Account: c.Account, Origins: c.Origins, Scopes: c.Scopes, Resource: c.Resource,
	}}
	response, err := browser.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	return map[string]any{"status": response.StatusCode, "body": string(text)}, nil
}

// loaded calls token.get many times.
func loaded(c *command, client *lanyard.Client) (any, error) {
	callers := c.Callers
	if callers < 1 {
		callers = 1
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.NumCPU()))
	failures := make(chan error, callers)
	began := time.Now()
	var running sync.WaitGroup
	for caller := 0; caller < callers; caller++ {
		count := c.Count / callers
		if caller < c.Count%callers {
			count++
		}
		running.Add(1)
		go func() {
			defer running.Done()
			for ; count > 0; count-- {
				_, err := client.Token.Get(context.Background(), &lanyard.TokenGetParams{Account: c.Account})
				if err != nil {
					failures <- err
					return
				}
			}
		}()
	}
	running.Wait()
	select {
	case err := <-failures:
		return nil, err
	default:
	}
	return map[string]any{"seconds": time.Since(began).Seconds()}, nil
}
