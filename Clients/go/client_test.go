package lanyard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAnswersOutOfOrderReachTheirCallers(t *testing.T) {
	agent, ctx := newFakeAgent(t), testContext(t)
	client := agent.client()
	var callers sync.WaitGroup
	for index := 0; index < 50; index++ {
		callers.Add(1)
		go func(name string) {
			defer callers.Done()
			raw, err := client.Call(ctx, "token.get", map[string]any{"account": name})
			if err != nil || string(raw) != `{"was":"`+name+`"}` {
				t.Errorf("%s got %s, %v", name, raw, err)
			}
		}(fmt.Sprint("account", index))
	}
	var requests []request
	for len(requests) < 50 {
		requests = append(requests, agent.next("token.get"))
	}
	for index := len(requests) - 1; index >= 0; index-- {
		requests[index].answer(`{"was":"` + requests[index].param("account") + `"}`)
	}
	callers.Wait()
	agent.mutex.Lock()
	defer agent.mutex.Unlock()
	same(t, len(agent.peers), 1)
}

func TestTypedCallKeepsUnknownMembersAndWords(t *testing.T) {
	agent := newFakeAgent(t)
	agent.on("token.get", func(r request) {
		later := strings.Replace(tokenJSON, `"source":"cache"`, `"source":"later","later":{"a":[1,null]}`, 1)
		r.answer(later)
	})
	token, err := agent.client().Token.Get(testContext(t), &TokenGetParams{Account: "work"})
	ok(t, err)
	same(t, token.AccessToken.Reveal(), "secret-access-token")
	same(t, token.Source, TokenSource("later"))
	later, _ := token.Extra.Get("later")
	same(t, string(later), `{"a":[1,null]}`)
	same(t, token.ExpiresAt.Format(time.RFC3339), "2030-01-01T00:05:00Z")
}

func TestErrorOfTheContractIsFoundInEachForm(t *testing.T) {
	agent := newFakeAgent(t)
	agent.on("token.get", func(r request) {
		r.fail("2004", `{"name":"reauthenticationRequired","retryable":false,"account":"acc_a","reason":"reused",`+
			`"remedies":["reauthenticate"],"retryAfterMs":1500}`)
	})
	_, err := agent.client().Token.Get(testContext(t), &TokenGetParams{Account: "work"})
	is(t, err, ErrReauthenticationRequired)
	if errors.Is(err, ErrSignedOut) {
		t.Fatal("it is also another error")
	}
	var typed *ReauthenticationRequiredError
	var general *Error
	if !errors.As(err, &typed) || !errors.As(err, &general) {
		t.Fatal("errors.As does not find it")
	}
	pause, told := typed.RetryAfter()
	same(t, typed.Account()+typed.Reason()+string(typed.Remedies()[0]), "acc_areusedreauthenticate")
	same(t, told, true)
	same(t, pause, 1500*time.Millisecond)
	same(t, err.Error(), "lanyard: about it [reauthenticationRequired (2004)]")
	same(t, general.Retryable(), false)
}

func TestUnknownErrorIsMatchedByItsName(t *testing.T) {
	agent := newFakeAgent(t)
	agent.on("token.get", func(r request) { r.fail("7777", `{"name":"ofLater","retryable":true}`) })
	_, err := agent.client().Token.Get(testContext(t), &TokenGetParams{Account: "work"})
	is(t, err, ErrorName("ofLater"))
	var told *Error
	same(t, errors.As(err, &told) && told.Retryable() && told.Code == 7777, true)
}

func TestLostConnectionFailsCallsAndTheNextCallConnectsAgain(t *testing.T) {
	agent, ctx := newFakeAgent(t), testContext(t)
	client := agent.client()
	failed := make(chan error, 1)
	go func() {
		_, err := client.Call(ctx, "operation.enqueue", nil)
		failed <- err
	}()
	agent.next("operation.enqueue")
	agent.hangUp()
	is(t, <-failed, ErrConnectionLost)
	agent.on("agent.status", func(r request) { r.answer(`{}`) })
	_, err := client.Call(ctx, "agent.status", nil)
	ok(t, err)
	same(t, len(agent.requests), 0)
}

func TestCancelledContextCancelsInTheAgent(t *testing.T) {
	agent := newFakeAgent(t)
	client := agent.client()
	ctx, cancel := context.WithCancel(testContext(t))
	failed := make(chan error, 1)
	go func() {
		_, err := client.SignIn.Wait(ctx, &SignInWaitParams{SignIn: "s1"})
		failed <- err
	}()
	waiting := agent.next("signIn.wait")
	cancel()
	err := <-failed
	is(t, err, ErrCancelled)
	is(t, err, context.Canceled)
	same(t, string(agent.next("$/cancel").Params["id"]), string(waiting.ID))
}

func TestDeadlineIsATimeoutInBothForms(t *testing.T) {
	agent := newFakeAgent(t)
	client := agent.client(WithTimeout(50 * time.Millisecond))
	_, err := client.Call(context.Background(), "token.get", nil)
	is(t, err, ErrCallTimeout)
	is(t, err, context.DeadlineExceeded)
	agent.next("token.get")
	agent.next("$/cancel")
}

func TestClosedClientFailsItsCalls(t *testing.T) {
	agent, ctx := newFakeAgent(t), testContext(t)
	client := agent.client()
	failed := make(chan error, 1)
	go func() {
		_, err := client.Call(ctx, "token.get", nil)
		failed <- err
	}()
	agent.next("token.get")
	ok(t, client.Close())
	is(t, <-failed, ErrClientClosed)
	_, err := client.Call(ctx, "token.get", nil)
	is(t, err, ErrClientClosed)
	ok(t, client.Close())
}

func TestTooLargeRequestIsNotSent(t *testing.T) {
	agent, ctx := newFakeAgent(t), testContext(t)
	client := agent.client()
	_, err := client.Call(ctx, "token.get", map[string]string{"account": strings.Repeat("x", 70_000)})
	is(t, err, ErrRequestTooLarge)
	same(t, len(agent.requests), 0)
}

func TestAgentThatReadsSlowlyGetsAllRequests(t *testing.T) {
	agent, ctx := newFakeAgent(t), testContext(t)
	begin := make(chan struct{})
	agent.on("agent.hello", func(r request) {
		r.answer(helloJSON)
		<-begin // the agent reads nothing more until then
	})
	agent.on("secret.put", func(r request) { r.answer(`{"bytes":` + fmt.Sprint(len(r.param("value"))) + `}`) })
	client := agent.client()
	ok(t, client.Connect(ctx))
	given, cancel := context.WithCancel(ctx)
	var callers sync.WaitGroup
	value := strings.Repeat("v", 500_000)
	for index := 0; index < 12; index++ {
		callers.Add(1)
		go func(index int) {
			defer callers.Done()
			if index%3 == 2 {
				_, err := client.Call(given, "secret.put", map[string]string{"value": value})
				if err != nil && !errors.Is(err, ErrCancelled) {
					t.Error(err)
				}
				return
			}
			raw, err := client.Call(ctx, "secret.put", map[string]string{"value": value})
			if err != nil || string(raw) != `{"bytes":500000}` {
				t.Errorf("%s %v", raw, err)
			}
		}(index)
	}
	time.Sleep(50 * time.Millisecond)
	cancel()
	time.Sleep(10 * time.Millisecond)
	agent.on("$/cancel", func(request) {})
	close(begin)
	callers.Wait()
}

func TestPlacesAreGivenBack(t *testing.T) {
	agent, ctx := newFakeAgent(t), testContext(t)
	agent.on("agent.hello", func(r request) {
		r.answer(strings.Replace(helloJSON, `"requestsInFlight":128`, `"requestsInFlight":2`, 1))
	})
	agent.on("$/cancel", func(request) {})
	client := agent.client()
	for round := 0; round < 3; round++ {
		limited, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		_, err := client.Call(limited, "token.get", nil)
		cancel()
		is(t, err, ErrCallTimeout)
		if round < 2 {
			agent.next("token.get").fail("1004", `{"name":"requestCancelled"}`)
		}
	}
	agent.on("agent.status", func(r request) { r.answer(`{}`) })
	_, err := client.Call(ctx, "agent.status", nil)
	ok(t, err)
}

func TestNoAgent(t *testing.T) {
	client := NewClient(WithSocket(filepath.Join(t.TempDir(), "agent.sock")))
	_, err := client.Call(testContext(t), "token.get", nil)
	is(t, err, ErrAgentNotRunning)
	var told *Error
	same(t, errors.As(err, &told) && told.Retryable(), true)
}

func TestGrantDoesNotPrint(t *testing.T) {
	client := NewClient(WithGrant(NewSecret("hidden-grant")), WithSocket("/nonexistent/agent.sock"))
	if text := fmt.Sprintf("%v %+v %#v %s", client, client, client, client); strings.Contains(text, "hidden") {
		t.Fatal(text)
	}
}

func TestDefaultSocketIsThatOfTheCommands(t *testing.T) {
	t.Setenv("LANYARD_SOCKET", "/a/agent.sock")
	path, err := DefaultSocket()
	ok(t, err)
	same(t, path, "/a/agent.sock")
	t.Setenv("LANYARD_SOCKET", "a/agent.sock")
	_, err = DefaultSocket()
	is(t, err, ErrAgentNotRunning)
	t.Setenv("LANYARD_SOCKET", "")
	t.Setenv("XDG_RUNTIME_DIR", "/run/x")
	path, err = DefaultSocket()
	ok(t, err)
	same(t, path, "/run/x/lanyard/agent.sock")
	t.Setenv("XDG_RUNTIME_DIR", "run/x")
	usual, usualTemporary := runtimeDirectories, temporaryDirectory
	defer func() { runtimeDirectories, temporaryDirectory = usual, usualTemporary }()
	runtimeDirectories, temporaryDirectory = t.TempDir(), t.TempDir()
	directory := filepath.Join(temporaryDirectory, fmt.Sprintf("lanyard-%d", os.Geteuid()))
	for _, when := range []string{"before it is made", "once it is made"} {
		path, err = DefaultSocket()
		ok(t, err)
		if path != directory+"/agent.sock" {
			t.Fatal(path, when)
		}
		_ = os.Mkdir(directory, 0o700)
	}
	ok(t, os.Chmod(directory, 0o750))
	_, err = DefaultSocket()
	is(t, err, ErrAgentNotRunning)
	ok(t, os.Remove(directory))
	ok(t, os.Symlink(t.TempDir(), directory))
	_, err = DefaultSocket()
	is(t, err, ErrAgentNotRunning)
	own := filepath.Join(runtimeDirectories, fmt.Sprint(os.Geteuid()))
	ok(t, os.Mkdir(own, 0o700))
	path, err = DefaultSocket()
	ok(t, err)
	same(t, path, own+"/lanyard/agent.sock")
}

func TestMethodsCallThroughAnyCaller(t *testing.T) {
	methods := NewMethods(callerFunc(func(method string, params any) string {
		same(t, method, "token.get")
		same(t, params.(*TokenGetParams).Account, "work")
		return tokenJSON
	}))
	token, err := methods.Token.Get(testContext(t), &TokenGetParams{Account: "work"})
	ok(t, err)
	same(t, token.Fingerprint, "f1")
}

type callerFunc func(method string, params any) string

func (f callerFunc) Call(_ context.Context, method string, params any) (json.RawMessage, error) {
	return json.RawMessage(f(method, params)), nil
}
