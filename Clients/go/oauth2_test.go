package lanyard

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestSourceGivesConvertedTokens(t *testing.T) {
	agent := newFakeAgent(t)
	agent.on("token.get", func(r request) { r.answer(tokenJSON) })
	type other struct{ text string }
	source := NewOAuth2Source(testContext(t), agent.client(), &TokenGetParams{Account: "work"}, func(t *Token) *other {
		return &other{t.TokenType + " " + t.AccessToken.Reveal()}
	})
	token, err := source.Token()
	ok(t, err)
	same(t, token.text, "Bearer secret-access-token")
}

// oauth2Program uses the source with golang.org/x/oauth2, as a program would.
const oauth2Program = `package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/oauth2"
	"lanyard.example/go/lanyard"
)

func main() {
	ctx, client := context.Background(), lanyard.NewClient()
	defer client.Close()
	var source oauth2.TokenSource = lanyard.NewOAuth2Source(ctx, client, &lanyard.TokenGetParams{Account: "work"},
		func(t *lanyard.Token) *oauth2.Token {
			// By this machine's clock, which the package compares it with: ExpiresAt is by the provider's.
			end := time.Now().Add(time.Duration(t.ExpiresInSeconds) * time.Second)
			return &oauth2.Token{AccessToken: t.AccessToken.Reveal(), TokenType: t.TokenType, Expiry: end}
		})
	token, err := oauth2.ReuseTokenSource(nil, source).Token()
	fmt.Println(err, token.Type(), token.Valid(), token.AccessToken == "secret-access-token")
}
`

// debianLibraries is where Debian's golang-golang-x-oauth2-dev has its sources.
const debianLibraries = "/usr/share/gocode"

func TestSourceFitsTheOAuth2Package(t *testing.T) {
	if _, err := os.Stat(filepath.Join(debianLibraries, "src/golang.org/x/oauth2")); err != nil {
		t.Skip("golang.org/x/oauth2 is not installed (Debian: golang-golang-x-oauth2-dev)")
	}
	agent := newFakeAgent(t)
	agent.on("token.get", func(r request) { r.answer(tokenJSON) })
	// Without modules, so that the test needs no network: GOPATH holds this package and the program.
	path := t.TempDir()
	here, err := os.Getwd()
	ok(t, err)
	ok(t, os.MkdirAll(filepath.Join(path, "src/lanyard.example/go"), 0o700))
	ok(t, os.Symlink(here, filepath.Join(path, "src/lanyard.example/go/lanyard")))
	program := filepath.Join(path, "src/program")
	ok(t, os.Mkdir(program, 0o700))
	ok(t, os.WriteFile(filepath.Join(program, "main.go"), []byte(oauth2Program), 0o600))
	command := exec.Command("go", "run", "program")
	command.Env = append(os.Environ(), "GO111MODULE=off", "GOPATH="+path+":"+debianLibraries, "GOFLAGS=",
		"LANYARD_SOCKET="+agent.path)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	same(t, strings.TrimSpace(string(output)), "<nil> Bearer true true")
}
