package lanyard

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// realAgent is the agent of LANYARD_AGENT on a state of its own, with alice signed in at the provider of
// LANYARD_DEMO.
type realAgent struct {
	t         *testing.T
	directory string
	process   *exec.Cmd
	client    *Client
	alice     string
	issuer    string
}

func newRealAgent(t *testing.T) *realAgent {
	program, demo := os.Getenv("LANYARD_AGENT"), os.Getenv("LANYARD_DEMO")
	if program == "" || demo == "" {
		t.Skip("LANYARD_AGENT and LANYARD_DEMO do not name the programs")
	}
	directory, err := os.MkdirTemp("", "lanyard-")
	ok(t, err)
	a := &realAgent{t: t, directory: directory}
	a.issuer = practiceProvider(t, demo)
	a.start()
	t.Cleanup(func() {
		_ = a.client.Close()
		_ = a.process.Process.Kill()
		_ = a.process.Wait()
		_ = os.RemoveAll(directory)
	})
	a.client = NewClient(WithSocket(a.socket()), WithTimeout(2*patience))
	ctx := context.Background()
	_, err = a.client.Provider.Add(ctx, &ProviderAddParams{
		Name: "practice", Issuer: Ptr(a.issuer), ClientID: Ptr("lanyard-demo"),
		Scopes: []string{"openid", "offline_access"},
	})
	ok(t, err)
	a.alice = a.signIn("alice")
	return a
}

func (a *realAgent) socket() string { return filepath.Join(a.directory, "run", "agent.sock") }

func (a *realAgent) start() {
	_ = os.Mkdir(filepath.Join(a.directory, "run"), 0o700)
	a.process = exec.Command(
		os.Getenv("LANYARD_AGENT"), "--socket", a.socket(), "--state-dir", filepath.Join(a.directory, "state"))
	a.process.Env = append(os.Environ(), "HOME="+a.directory, "XDG_CONFIG_HOME="+a.directory,
		"XDG_RUNTIME_DIR="+filepath.Join(a.directory, "run"))
	ok(a.t, a.process.Start())
	client := NewClient(WithSocket(a.socket()))
	defer func() { _ = client.Close() }()
	for deadline := time.Now().Add(2 * patience); ; time.Sleep(20 * time.Millisecond) {
		err := client.Connect(context.Background())
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			a.t.Fatal(err)
		}
	}
}

func practiceProvider(t *testing.T, demo string) string {
	command := exec.Command(demo, "provider", "--auto-approve", "alice")
	output, err := command.StdoutPipe()
	ok(t, err)
	ok(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	lines := bufio.NewReader(output)
	first, err := lines.ReadString('\n')
	ok(t, err)
	go func() { _, _ = lines.WriteTo(io.Discard) }()
	issuer := regexp.MustCompile(`https?://\S+`).FindString(first)
	if issuer == "" {
		t.Fatalf("the provider said %q", first)
	}
	return issuer
}

// signIn signs a person in as a browser would.
func (a *realAgent) signIn(person string) string {
	ctx := context.Background()
	begun, err := a.client.SignIn.Begin(ctx, &SignInBeginParams{
		Provider: "practice", Flow: SignInFlowBrowser, OpenBrowser: Ptr(false), Alias: Ptr(person),
	})
	ok(a.t, err)
	browser := &http.Client{Transport: &http.Transport{}, Timeout: patience}
	page, err := browser.Get(*begun.AuthorizationURL + "&login_hint=" + url.QueryEscape(person))
	ok(a.t, err)
	ok(a.t, page.Body.Close())
	ended, err := a.client.SignIn.Wait(ctx, &SignInWaitParams{SignIn: begun.SignIn, TimeoutSeconds: Ptr[int64](20)})
	ok(a.t, err)
	same(a.t, ended.Status, SignInStatusCompleted)
	return *ended.Account
}

func TestRealAgent(t *testing.T) {
	agent := newRealAgent(t)
	client, ctx := agent.client, context.Background()

	t.Run("hello tells the limits", func(t *testing.T) {
		hello, err := client.Hello(ctx)
		ok(t, err)
		same(t, hello.Limits.LineBytes, 65536)
	})
	t.Run("a cached token is the same for all", func(t *testing.T) {
		var callers sync.WaitGroup
		fingerprints := make([]string, 500)
		for index := range fingerprints {
			callers.Add(1)
			go func(index int) {
				defer callers.Done()
				token, err := client.Token.Get(ctx, &TokenGetParams{Account: "alice"})
				if err != nil {
					t.Error(err)
					return
				}
				fingerprints[index] = token.Fingerprint
			}(index)
		}
		callers.Wait()
		for _, fingerprint := range fingerprints {
			same(t, fingerprint, fingerprints[0])
		}
	})
	t.Run("errors have their types", func(t *testing.T) {
		_, err := client.Token.Get(ctx, &TokenGetParams{Account: "nobody"})
		is(t, err, ErrAccountNotFound)
		_, err = client.Call(ctx, "token.get", nil)
		is(t, err, ErrInvalidParams)
		_, err = client.Call(ctx, "token.steal", nil)
		is(t, err, ErrMethodNotFound)
	})
	t.Run("a cancelled wait leaves the connection whole", func(t *testing.T) {
		begun, err := client.SignIn.Begin(ctx, &SignInBeginParams{
			Provider: "practice", Flow: SignInFlowBrowser, OpenBrowser: Ptr(false),
		})
		ok(t, err)
		limited, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		_, err = client.SignIn.Wait(limited, &SignInWaitParams{SignIn: begun.SignIn})
		is(t, err, ErrCallTimeout)
		_, err = client.SignIn.Cancel(ctx, &SignInCancelParams{SignIn: begun.SignIn})
		ok(t, err)
	})
	t.Run("the transport replaces a token that a server refuses", func(t *testing.T) {
		server := newResource(t, status(401, "WWW-Authenticate", `Bearer error="invalid_token"`), status(200))
		browser := &http.Client{Transport: &Transport{Client: client, Account: "alice", Origins: []string{server.URL}}}
		response, err := browser.Get(server.URL)
		ok(t, err)
		same(t, response.StatusCode, 200)
		if server.seen[0].Header.Get("Authorization") == server.seen[1].Header.Get("Authorization") {
			t.Fatal("the second request has the token of the first")
		}
	})
	t.Run("a grant limits the client", func(t *testing.T) {
		grant, err := client.Grant.Create(ctx, &GrantCreateParams{
			Client: "test", Accounts: []string{agent.alice}, Methods: []string{"token.get"},
		})
		ok(t, err)
		limited := NewClient(WithSocket(agent.socket()), WithGrant(grant.Secret))
		defer func() { _ = limited.Close() }()
		_, err = limited.Token.Get(ctx, &TokenGetParams{Account: "alice"})
		ok(t, err)
		_, err = limited.Agent.Lock(ctx, nil)
		is(t, err, ErrNotPermitted)
	})
	t.Run("a killed agent fails calls, and streams go on with the next one", func(t *testing.T) {
		stream, err := client.Events(ctx, nil)
		ok(t, err)
		defer func() { _ = stream.Close() }()
		begun, err := client.SignIn.Begin(ctx, &SignInBeginParams{
			Provider: "practice", Flow: SignInFlowBrowser, OpenBrowser: Ptr(false),
		})
		ok(t, err)
		failed := make(chan error, 1)
		go func() {
			_, err := client.SignIn.Wait(ctx, &SignInWaitParams{SignIn: begun.SignIn})
			failed <- err
		}()
		time.Sleep(100 * time.Millisecond)
		ok(t, agent.process.Process.Kill())
		_ = agent.process.Wait()
		is(t, <-failed, ErrConnectionLost)
		agent.start()
		limited, cancel := context.WithTimeout(ctx, 2*patience)
		defer cancel()
		for {
			event, err := stream.Next(limited)
			ok(t, err)
			if event.Type == EventTypeEventGap {
				break
			}
		}
		token, err := client.Token.Get(ctx, &TokenGetParams{Account: "alice"})
		ok(t, err)
		same(t, token.Account, agent.alice)
	})
	t.Run("the first example starts an agent", func(t *testing.T) {
		program, _ := readmeExamples(t)
		built := builtProgram(t, program)
		_ = client.Close()
		ok(t, agent.process.Process.Signal(syscall.SIGTERM))
		_ = agent.process.Wait()
		// As a person has it: lanyard-agent in PATH, and no variables of the agent but those of the session.
		session := filepath.Join(agent.directory, "session")
		ok(t, os.MkdirAll(filepath.Join(session, "lanyard"), 0o700))
		command := exec.Command(built)
		command.Env = []string{
			"HOME=" + agent.directory, "XDG_RUNTIME_DIR=" + session,
			"LANYARD_STATE_DIR=" + filepath.Join(agent.directory, "state"),
			"PATH=" + filepath.Dir(os.Getenv("LANYARD_AGENT")),
		}
		output, err := command.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(output), agent.alice) {
			t.Fatalf("%v: %s", err, output)
		}
		started := NewClient(WithSocket(filepath.Join(session, "lanyard", "agent.sock")))
		defer func() { _ = started.Close() }()
		_, err = started.Agent.Shutdown(ctx, nil)
		ok(t, err)
	})
}
