package lanyard

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// resource is a resource server that answers in turn, the last answer for ever.
type resource struct {
	*httptest.Server
	mutex    sync.Mutex
	seen     []*http.Request
	bodies   []string
	handlers []http.HandlerFunc
}

func newResource(t *testing.T, handlers ...http.HandlerFunc) *resource {
	r := &resource{handlers: handlers}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		r.mutex.Lock()
		r.seen = append(r.seen, request)
		r.bodies = append(r.bodies, string(body))
		handler := r.handlers[0]
		if len(r.handlers) > 1 {
			r.handlers = r.handlers[1:]
		}
		r.mutex.Unlock()
		handler(w, request)
	}))
	t.Cleanup(r.Close)
	return r
}

func status(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for index := 0; index < len(headers); index += 2 {
			w.Header().Set(headers[index], headers[index+1])
		}
		w.WriteHeader(code)
	}
}

// tokensOf answers token.get, token.reject and token.proof.
func tokensOf(agent *fakeAgent, tokenType string) {
	token := strings.Replace(tokenJSON, "Bearer", tokenType, 1)
	agent.on("token.get", func(r request) { r.answer(token) })
	agent.on("token.proof", func(r request) {
		proof := "proof " + r.param("method") + " " + r.param("fingerprint") + " " + r.param("nonce")
		r.answer(`{"proof":"` + proof + `","thumbprint":"t","account":"acc_alice"}`)
	})
	agent.on("token.reject", func(r request) {
		second := strings.Replace(token, "secret-access-token", "second", 1)
		r.answer(strings.Replace(second, `"f1"`, `"f2"`, 1))
		agent.requests <- r
	})
}

func browser(agent *fakeAgent, origins ...string) *http.Client {
	return &http.Client{Transport: &Transport{Client: agent.client(), Account: "work", Origins: origins}}
}

func TestTransportReplacesARefusedToken(t *testing.T) {
	agent := newFakeAgent(t)
	tokensOf(agent, "bearer")
	server := newResource(t, status(401, "WWW-Authenticate", `Bearer error="invalid_token"`), status(200))
	request, _ := http.NewRequest("POST", server.URL+"/orders", strings.NewReader("the body"))
	request.Header.Set("Authorization", "of the caller")
	response, err := browser(agent, server.URL).Do(request)
	ok(t, err)
	same(t, response.StatusCode, 200)
	same(t, strings.Join(server.bodies, "|"), "the body|the body")
	same(t, server.seen[0].Header.Get("Authorization"), "Bearer secret-access-token")
	same(t, server.seen[1].Header.Get("Authorization"), "Bearer second")
	same(t, request.Header.Get("Authorization"), "of the caller")
	rejected := agent.next("token.reject")
	same(t, rejected.param("fingerprint"), "f1")
	same(t, rejected.param("challenge"), `Bearer error="invalid_token"`)
}

func TestTransportReturnsTheSecond401(t *testing.T) {
	agent := newFakeAgent(t)
	tokensOf(agent, "Bearer")
	server := newResource(t, status(401))
	response, err := browser(agent, server.URL).Get(server.URL)
	ok(t, err)
	same(t, response.StatusCode, 401)
	same(t, len(server.seen), 2)
}

func TestTransportReportsATokenAlsoIfTheBodyIsGone(t *testing.T) {
	agent := newFakeAgent(t)
	tokensOf(agent, "Bearer")
	server := newResource(t, status(401))
	request, _ := http.NewRequest("POST", server.URL, io.MultiReader(strings.NewReader("once")))
	response, err := browser(agent, server.URL).Do(request)
	ok(t, err)
	same(t, response.StatusCode, 401)
	same(t, len(server.seen), 1)
	agent.next("token.reject")
}

func TestTransportProvesBoundTokensWithTheServersNonce(t *testing.T) {
	agent := newFakeAgent(t)
	tokensOf(agent, "DPoP")
	refusal := status(401, "WWW-Authenticate", `DPoP error="use_dpop_nonce"`, "DPoP-Nonce", "n1")
	server := newResource(t, refusal, status(200))
	client := browser(agent, server.URL)
	for round := 0; round < 2; round++ {
		response, err := client.Get(server.URL + "/a?b#c")
		ok(t, err)
		same(t, response.StatusCode, 200)
	}
	same(t, server.seen[0].Header.Get("DPoP"), "proof GET f1")
	same(t, server.seen[1].Header.Get("DPoP"), "proof GET f1 n1")
	same(t, server.seen[2].Header.Get("DPoP"), "proof GET f1 n1")
	same(t, server.seen[1].Header.Get("Authorization"), "DPoP secret-access-token")
	same(t, len(agent.requests), 0)
}

func TestTransportProvesTheLatestToken(t *testing.T) {
	agent := newFakeAgent(t)
	tokensOf(agent, "DPoP")
	proves := agent.handlers["token.proof"]
	var once sync.Once
	agent.on("token.proof", func(r request) {
		refused := false
		once.Do(func() {
			refused = true
			latest := strings.Replace(tokenJSON, "Bearer", "DPoP", 1)
			agent.on("token.get", func(r request) { r.answer(strings.Replace(latest, `"f1"`, `"f9"`, 1)) })
			r.fail("6003", `{"name":"notFound","kind":"token"}`)
		})
		if !refused {
			proves(r)
		}
	})
	server := newResource(t, status(200))
	_, err := browser(agent, server.URL).Get(server.URL)
	ok(t, err)
	same(t, server.seen[0].Header.Get("DPoP"), "proof GET f9")
}

func TestTransportSendsNothingElsewhere(t *testing.T) {
	agent := newFakeAgent(t)
	tokensOf(agent, "Bearer")
	other := newResource(t, status(200))
	_, err := browser(agent, "https://api.example").Get(other.URL)
	is(t, err, ErrOriginRefused)
	same(t, len(other.seen), 0)
}

func TestRedirectElsewhereGoesWithoutTheToken(t *testing.T) {
	agent := newFakeAgent(t)
	tokensOf(agent, "Bearer")
	other := newResource(t, status(200))
	server := newResource(t, status(302, "Location", other.URL+"/file"))
	response, err := browser(agent, server.URL).Get(server.URL)
	ok(t, err)
	same(t, response.StatusCode, 200)
	same(t, other.seen[0].Header.Get("Authorization"), "")
	same(t, server.seen[0].Header.Get("Authorization"), "Bearer secret-access-token")
}

func TestTransportTellsTheAgentsError(t *testing.T) {
	agent := newFakeAgent(t)
	agent.on("token.get", func(r request) { r.fail("2003", `{"name":"signedOut"}`) })
	server := newResource(t, status(200))
	_, err := browser(agent, server.URL).Get(server.URL)
	var typed *SignedOutError
	same(t, errors.As(err, &typed), true)
	same(t, len(server.seen), 0)
}

func TestOrigins(t *testing.T) {
	for _, one := range []struct {
		origin, address string
		covered         bool
	}{
		{"https://api.example", "https://api.example/x?y", true},
		{"https://API.example:443/", "https://api.EXAMPLE/", true},
		{"https://api.example", "https://api.example:8443/", false},
		{"https://api.example", "http://api.example/", false},
		{"http://api.example", "http://api.example/", false},
		{"https://api.example", "https://api.example.evil/", false},
		{"https://api.example", "https://user@api.example/", true},
		{"https://api.example", "https://api.example@evil.example/", false},
		{"https://api.example/path", "https://api.example/path", false},
		{"https://user@api.example", "https://api.example", false},
		{"http://localhost:80", "http://localhost/", true},
		{"http://[::1]:8080", "http://[::1]:8080/", true},
		{"http://127.0.0.1:1", "http://127.1.2.3:1/", false},
		{"http://127.1.2.3:1", "http://127.1.2.3:1/", true},
		{"http://localhost.example", "http://localhost.example/", false},
		{"", "https:///x", false},
		{"*", "https://api.example/", false},
	} {
		address, err := url.Parse(one.address)
		ok(t, err)
		if covers([]string{"https://other.example", one.origin}, address) != one.covered {
			t.Errorf("%s, %s", one.origin, one.address)
		}
	}
}
