package lanyard

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goBlocks = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// readmeExamples are the Go blocks of the README: a whole program, and the bodies of functions.
func readmeExamples(t *testing.T) (program string, fragments []string) {
	text, err := os.ReadFile("README.md")
	ok(t, err)
	for _, block := range goBlocks.FindAllStringSubmatch(string(text), -1) {
		switch {
		case program == "":
			program = block[1]
		case !strings.Contains(block[1], "oauth2."):
			// That one has a test of its own, with the package.
			fragments = append(fragments, block[1])
		}
	}
	return program, fragments
}

// builtProgram builds a program that uses this module, without a network.
func builtProgram(t *testing.T, source string) string {
	t.Helper()
	here, err := os.Getwd()
	ok(t, err)
	place := t.TempDir()
	module := "module example\n\ngo 1.19\n\nrequire lanyard.example/go/lanyard v1.0.0\n\n" +
		"replace lanyard.example/go/lanyard => " + here + "\n"
	ok(t, os.WriteFile(filepath.Join(place, "go.mod"), []byte(module), 0o600))
	ok(t, os.WriteFile(filepath.Join(place, "main.go"), []byte(source), 0o600))
	command := exec.Command("go", "build", "-o", "program", ".")
	command.Dir = place
	command.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return filepath.Join(place, "program")
}

func run(t *testing.T, program, socket string, arguments ...string) string {
	t.Helper()
	command := exec.Command(program, arguments...)
	command.Env = append(os.Environ(), "LANYARD_SOCKET="+socket, "LANYARD_NO_START=1")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v %v\n%s", arguments, err, output)
	}
	if strings.Contains(string(output), "secret") {
		t.Fatalf("it printed a secret: %s", output)
	}
	return string(output)
}

func TestFirstExampleOfTheReadme(t *testing.T) {
	agent := newFakeAgent(t)
	agent.on("token.get", func(r request) { r.answer(tokenJSON) })
	program, _ := readmeExamples(t)
	same(t, run(t, builtProgram(t, program), agent.path), "acc_alice 300 true\n")
}

func TestFurtherExamplesOfTheReadme(t *testing.T) {
	_, fragments := readmeExamples(t)
	server := newResource(t, status(200))
	source := "package main\n\nimport (\n\"context\"\n\"errors\"\n\"fmt\"\n\"log\"\n\"net/http\"\n\"os\"\n\"time\"\n" +
		"\"lanyard.example/go/lanyard\"\n)\n\nvar _, _, _ = errors.Is, http.DefaultClient, time.Second\n\n" +
		"func main() {\nctx, client := context.Background(), lanyard.NewClient()\ndefer client.Close()\n" +
		"if err := map[string]func(context.Context, *lanyard.Client) error{\n"
	for index := range fragments {
		source += fmt.Sprintf("\"%d\": example%d,\n", index, index)
	}
	source += "}[os.Args[1]](ctx, client); err != nil { log.Fatal(err) }\n}\n"
	for index, fragment := range fragments {
		end := "return nil\n"
		if strings.Contains(fragment, "for {") {
			end = ""
		}
		source += fmt.Sprintf("\nfunc example%d(ctx context.Context, client *lanyard.Client) error {\n", index) +
			strings.ReplaceAll(fragment, "https://api.example", server.URL) + end + "}\n"
	}
	program := builtProgram(t, source)
	printed := ""
	for index := range fragments {
		agent := newFakeAgent(t)
		script(agent)
		printed += run(t, program, agent.path, fmt.Sprint(index))
	}
	for _, words := range []string{
		"200 OK", "acc_retired outcomeUnknown [reauthenticate]", "has to sign in again: reused", "Signed in: acc_alice",
	} {
		if !strings.Contains(printed, words) {
			t.Fatalf("%q is not in\n%s", words, printed)
		}
	}
}

// script makes an agent answer what the examples ask.
func script(agent *fakeAgent) {
	token := func(r request) {
		if r.param("account") == "retired" {
			r.fail("2004", `{"name":"reauthenticationRequired","account":"acc_retired","reason":"outcomeUnknown",`+
				`"remedies":["reauthenticate"]}`)
			return
		}
		r.answer(tokenJSON)
	}
	agent.on("token.get", token)
	agent.on("token.reject", token)
	agent.on("event.unsubscribe", func(r request) { r.answer("{}") })
	agent.on("event.subscribe", func(r request) {
		r.answer(subscribedJSON)
		r.peer.event("sub-1", "1", "session.expired", `{"reason":"reused"}`)
		r.peer.event("sub-1", "2", "account.switched", `{}`)
	})
	agent.on("signIn.begin", func(r request) {
		r.answer(`{"signIn":"s1","flow":"device","expiresAt":"2030-01-01T00:00:00.000Z",` +
			`"verificationUri":"https://idp.example/device","userCode":"ABCD-EFGH"}`)
	})
	agent.on("signIn.wait", func(r request) { r.answer(`{"status":"completed","account":"acc_alice"}`) })
}
