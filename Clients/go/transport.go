package lanyard

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// maximumChallenge is the longest challenge that token.reject takes.
const maximumChallenge = 4096

// drainBytes is how much of a refused response is read, so that its connection can be used again.
const drainBytes = 64 << 10

// Transport is an http.RoundTripper that sends the access token of one account to named origins.
//
//	browser := &http.Client{Transport: &lanyard.Transport{
//		Client: client, Account: "work", Origins: []string{"https://api.example"},
//	}}
//
// The token goes to Origins only, over https or to this machine. A request for another origin fails with
// ErrOriginRefused before anything is sent. A redirect to another origin is followed without the token, and so are all
// redirects after it.
//
// After a 401 it reports the token and sends the request once more with the next one, if there is no body or the
// request has GetBody. If the agent has no next token, RoundTrip fails with its error, such as
// ErrInteractionRequired. A second 401 is the answer. A bound token (DPoP) goes with a proof for each request.
//
// It may be used by any number of goroutines. Don't change it after its first use.
type Transport struct {
	Client *Client
	// Account is an id, an alias, or @active.
	Account string
	// Origins are what the token may be sent to, such as https://api.example or http://127.0.0.1:8080.
	Origins []string
	// Scopes and Resource are what the token is for; without them the account's usual token is sent.
	Scopes   []string
	Resource string
	// Base sends the requests; nil for http.DefaultTransport.
	Base http.RoundTripper

	mutex sync.Mutex
	// nonces has the last DPoP-Nonce of each origin (RFC 9449, section 9).
	nonces map[origin]string
}

// RoundTrip sends a request with a token.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if hasLeft(request) {
		// A redirect led here: go on without the token.
		return t.base().RoundTrip(request)
	}
	if !covers(t.Origins, request.URL) {
		closeBody(request)
		return nil, failure(ErrOriginRefused, "the origin of the URL is not among those that the token may be sent to")
	}
	token, err := t.token(request, t.Account)
	if err != nil {
		closeBody(request)
		return nil, err
	}
	return t.send(request, token)
}

// hasLeft reports whether a redirect from another origin led to a request, directly or on the way. The other origin
// may have chosen the URL.
func hasLeft(request *http.Request) bool {
	to, ok := originOf(request.URL)
	for response := request.Response; response != nil; response = response.Request.Response {
		if response.Request == nil {
			return true
		}
		if from, known := originOf(response.Request.URL); !ok || !known || from != to {
			return true
		}
	}
	return false
}

// CloseIdleConnections closes those of Base, for http.Client.CloseIdleConnections.
func (t *Transport) CloseIdleConnections() {
	if closer, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// accountOf is the account for what is said about a token: @active may be another one by now.
func (t *Transport) accountOf(token *Token) string {
	if t.Account == "@active" {
		return token.Account
	}
	return t.Account
}

func (t *Transport) token(request *http.Request, account string) (*Token, error) {
	params := &TokenGetParams{Account: account, Scopes: t.Scopes}
	if t.Resource != "" {
		params.Resource = &t.Resource
	}
	return t.Client.Token.Get(request.Context(), params)
}

// send sends the request, and again after a refused token or a missing nonce.
func (t *Transport) send(request *http.Request, token *Token) (*http.Response, error) {
	from, _ := originOf(request.URL)
	rejected, nonceTold := false, false
	for next := request; ; {
		response, err := t.sendOnce(next, token, from)
		if err != nil || response.StatusCode != http.StatusUnauthorized {
			return response, err
		}
		challenge := strings.Join(response.Header.Values("WWW-Authenticate"), ", ")
		wantsNonce := isBound(token) && asksForNonce(challenge) && response.Header.Get("DPoP-Nonce") != ""
		switch {
		case wantsNonce && nonceTold || rejected && !wantsNonce:
			return response, nil
		case wantsNonce:
			// The token was not looked at.
			nonceTold = true
		default:
			rejected, nonceTold = true, false
			replaced, err := t.reject(request, token, challenge)
			if err != nil {
				discard(response)
				return nil, err
			}
			token = replaced
		}
		again, ok := repeated(request)
		if !ok {
			return response, nil
		}
		discard(response)
		next = again
	}
}

// sendOnce sends one request, and remembers the nonce of its response.
func (t *Transport) sendOnce(request *http.Request, token *Token, to origin) (*http.Response, error) {
	signed := request.Clone(request.Context())
	for name := range signed.Header {
		// A name that is not in the canonical form would be a second header.
		if strings.EqualFold(name, "Authorization") || strings.EqualFold(name, "DPoP") {
			delete(signed.Header, name)
		}
	}
	if signed.Header == nil {
		signed.Header = http.Header{}
	}
	signed.Header.Set("Authorization", authorization(token))
	if isBound(token) {
		proof, err := t.proof(request, token, to)
		if errors.Is(err, ErrNotFound) {
			// The token was replaced meanwhile: the agent proves only the latest.
			var latest *Token
			if latest, err = t.token(request, t.accountOf(token)); err == nil {
				*token = *latest
				signed.Header.Set("Authorization", authorization(token))
				proof, err = t.proof(request, token, to)
			}
		}
		if err != nil {
			closeBody(request)
			return nil, err
		}
		signed.Header.Set("DPoP", proof.Reveal())
	}
	response, err := t.base().RoundTrip(signed)
	if err != nil {
		return nil, err
	}
	// The caller's request, in whose place the clone with the token would be printed.
	response.Request = request
	if nonce := response.Header.Get("DPoP-Nonce"); nonce != "" && isBound(token) {
		t.mutex.Lock()
		if t.nonces == nil {
			t.nonces = map[origin]string{}
		}
		t.nonces[to] = nonce
		t.mutex.Unlock()
	}
	return response, nil
}

func (t *Transport) proof(request *http.Request, token *Token, to origin) (Secret, error) {
	method := request.Method
	if method == "" {
		method = http.MethodGet
	}
	address := &url.URL{Scheme: request.URL.Scheme, Host: request.URL.Host, Path: request.URL.Path,
		RawPath: request.URL.RawPath}
	params := &TokenProofParams{
		Account: t.accountOf(token), Method: method, URL: address.String(), Fingerprint: &token.Fingerprint,
	}
	t.mutex.Lock()
	if nonce := t.nonces[to]; nonce != "" {
		params.Nonce = &nonce
	}
	t.mutex.Unlock()
	proof, err := t.Client.Token.Proof(request.Context(), params)
	if err != nil {
		return Secret{}, err
	}
	return proof.Proof, nil
}

// reject reports a refused token, and returns the one to use now.
func (t *Transport) reject(request *http.Request, token *Token, challenge string) (*Token, error) {
	params := &TokenRejectParams{Account: t.accountOf(token), Fingerprint: token.Fingerprint}
	if challenge != "" && len(challenge) <= maximumChallenge {
		params.Challenge = &challenge
	}
	return t.Client.Token.Reject(request.Context(), params)
}

func (t *Transport) base() http.RoundTripper {
	if t.Base != nil {
		return t.Base
	}
	return http.DefaultTransport
}

func authorization(token *Token) string {
	scheme := token.TokenType
	if strings.EqualFold(scheme, "bearer") {
		scheme = "Bearer" // RFC 6750 writes it so, and some servers compare exactly
	}
	return scheme + " " + token.AccessToken.Reveal()
}

func isBound(token *Token) bool { return strings.EqualFold(token.TokenType, "DPoP") }

var nonceError = regexp.MustCompile(`(?i)\bdpop\b.*\berror\s*=\s*"?use_dpop_nonce\b`)

// asksForNonce reports whether a challenge asks for a proof with the server's nonce (RFC 9449, section 9).
func asksForNonce(challenge string) bool { return nonceError.MatchString(challenge) }

// repeated is the request with its body from the beginning; false if its body can't be read again.
func repeated(request *http.Request) (*http.Request, bool) {
	again := request.Clone(request.Context())
	if request.Body == nil || request.Body == http.NoBody {
		return again, true
	}
	if request.GetBody == nil {
		return nil, false
	}
	body, err := request.GetBody()
	if err != nil {
		return nil, false
	}
	again.Body = body
	return again, true
}

// discard ends a response that is not given to the caller.
func discard(response *http.Response) {
	_, _ = io.CopyN(io.Discard, response.Body, drainBytes)
	_ = response.Body.Close()
}

func closeBody(request *http.Request) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
}
