package lanyard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// In place of the agent the tests start themselves, by a script in PATH.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "--socket" {
		standIn(os.Args[2])
	}
	os.Exit(m.Run())
}

// standIn serves hello and agent.status at a socket until agent.shutdown.
func standIn(path string) {
	directory := os.Getenv("LANYARD_STATE_DIR")
	notes, err := os.OpenFile(filepath.Join(directory, "starts"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		os.Exit(73)
	}
	fmt.Fprintln(notes, strings.Join(os.Environ(), " "))
	if words, err := os.ReadFile(filepath.Join(directory, "words")); err == nil {
		fmt.Fprintln(os.Stderr, string(words))
		os.Exit(76)
	}
	agent := &fakeAgent{path: path, requests: make(chan request), handlers: map[string]func(request){}}
	agent.on("agent.hello", func(r request) { r.answer(helloJSON) })
	agent.on("agent.status", func(r request) { r.answer(`{}`) })
	agent.on("agent.shutdown", func(request) { os.Exit(0) })
	agent.listen()
	select {}
}

// installed puts the stand-in into PATH, and returns how often it was started.
func installed(t *testing.T) (state string, starts func() []string) {
	place := t.TempDir()
	self, err := os.Executable()
	ok(t, err)
	for _, name := range []string{"bin", "state", "run"} {
		ok(t, os.Mkdir(filepath.Join(place, name), 0o700))
	}
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", self)
	ok(t, os.WriteFile(filepath.Join(place, "bin", "lanyard-agent"), []byte(script), 0o755))
	state = filepath.Join(place, "state")
	for name, value := range map[string]string{
		"PATH": filepath.Join(place, "bin") + ":" + os.Getenv("PATH"), "LANYARD_STATE_DIR": state,
		"XDG_RUNTIME_DIR": filepath.Join(place, "run"), "LANYARD_SOCKET": "", "LANYARD_NO_START": "",
		"OF_THE_TEST": "hush",
	} {
		t.Setenv(name, value)
	}
	t.Cleanup(func() {
		client := NewClient(WithStart(false))
		_, _ = client.Call(testContext(t), "agent.shutdown", nil)
		_ = client.Close()
	})
	return state, func() []string {
		text, _ := os.ReadFile(filepath.Join(state, "starts"))
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
}

func TestManyClientsStartOneAgent(t *testing.T) {
	_, starts := installed(t)
	ctx := testContext(t)
	var callers sync.WaitGroup
	for index := 0; index < 8; index++ {
		callers.Add(1)
		go func() {
			defer callers.Done()
			client := NewClient()
			defer func() { _ = client.Close() }()
			if _, err := client.Call(ctx, "agent.status", nil); err != nil {
				t.Error(err)
			}
		}()
	}
	callers.Wait()
	same(t, len(starts()), 1)
	if strings.Contains(starts()[0], "OF_THE_TEST") {
		t.Fatal("the agent got a variable that it does not need")
	}
}

func TestTheAgentsLastWordsAreInTheError(t *testing.T) {
	state, _ := installed(t)
	ok(t, os.WriteFile(filepath.Join(state, "words"), []byte("the vault of the test is broken"), 0o600))
	_, err := NewClient().Call(testContext(t), "agent.status", nil)
	is(t, err, ErrAgentStartFailed)
	is(t, err, ErrAgentNotRunning)
	for _, words := range []string{"exit 76", "the vault of the test is broken", "agent.log"} {
		if !strings.Contains(err.Error(), words) {
			t.Fatalf("%v does not hold %q", err, words)
		}
	}
	var told *Error
	same(t, errors.As(err, &told) && !told.Retryable(), true)
}

func TestStartingMayBeForbidden(t *testing.T) {
	_, starts := installed(t)
	ctx := testContext(t)
	_, err := NewClient(WithStart(false)).Call(ctx, "agent.status", nil)
	is(t, err, ErrAgentNotRunning)
	_, err = NewClient(WithSocket(filepath.Join(t.TempDir(), "s"))).Call(ctx, "agent.status", nil)
	is(t, err, ErrAgentNotRunning)
	t.Setenv("LANYARD_NO_START", "1")
	_, err = NewClient(WithStart(true)).Call(ctx, "agent.status", nil)
	is(t, err, ErrAgentNotRunning)
	if errors.Is(err, ErrAgentStartFailed) {
		t.Fatal(err)
	}
	same(t, starts()[0], "")
}

func TestNoAgentIsInstalled(t *testing.T) {
	installed(t)
	t.Setenv("PATH", "relative:"+t.TempDir())
	_, err := NewClient().Call(testContext(t), "agent.status", nil)
	is(t, err, ErrAgentStartFailed)
	if !strings.Contains(err.Error(), "lanyard-agent is not in PATH") {
		t.Fatal(err)
	}
}

func TestSystemWithoutGlibcIsTold(t *testing.T) {
	installed(t)
	place := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(place, "lanyard-agent"), []byte("#!/no/such/linker\n"), 0o755))
	t.Setenv("PATH", place)
	_, err := NewClient().Call(testContext(t), "agent.status", nil)
	is(t, err, ErrAgentStartFailed)
	if !strings.Contains(err.Error(), "lanyard-agent can't be run: it needs glibc") {
		t.Fatal(err)
	}
}
