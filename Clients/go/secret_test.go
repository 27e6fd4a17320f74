package lanyard

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"lanyard.example/go/lanyard/internal/wire"
)

// withPrivateField has a secret where fmt does not ask its methods.
type withPrivateField struct{ token Token }

func TestSecretsDoNotPrint(t *testing.T) {
	token := Token{AccessToken: NewSecret("hidden"), Fingerprint: "f1"}
	token.Extra.Set("idToken", json.RawMessage(`"hidden"`))
	params := SecretPutParams{Account: "work", Name: "n", Value: NewSecret("hidden")}
	for _, value := range []any{
		token, &token, []Token{token}, map[string]any{"token": token},
		withPrivateField{token}, &withPrivateField{token},
		params, &params, token.AccessToken, &token.AccessToken, token.Extra,
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%08b"} {
			text := fmt.Sprintf(verb, value)
			if strings.Contains(text, "hidden") || strings.Contains(text, "104 105 100") ||
				strings.Contains(strings.ToLower(text), "68696464656e") {
				t.Errorf("%s of %T: %s", verb, value, text)
			}
		}
		text, err := json.Marshal(value)
		if err != nil || strings.Contains(string(text), "hidden") {
			t.Errorf("JSON of %T: %s %v", value, text, err)
		}
	}
	text, _ := xml.Marshal(struct{ T Secret }{token.AccessToken})
	if strings.Contains(string(text), "hidden") {
		t.Errorf("XML: %s", text)
	}
}

func TestSecretsGoOverTheWire(t *testing.T) {
	params := &SecretPutParams{Account: "work", Name: "n", Value: NewSecret("a \"hidden\"\n")}
	text, err := wire.Marshal(params)
	ok(t, err)
	same(t, string(text), `{"account":"work","name":"n","value":"a \"hidden\"\n"}`)
	same(t, Secret{}.Reveal(), "")
	same(t, Secret{}.IsZero() && !NewSecret("").IsZero(), true)
}

func TestExtraParamsAreSent(t *testing.T) {
	params := &TokenGetParams{Account: "work", Scopes: []string{}, MinimumLifetimeSeconds: Ptr[int64](0)}
	params.Extra.Set("ofLater", json.RawMessage("{\n\"a\": 1}"))
	text, err := wire.Marshal(params)
	ok(t, err)
	same(t, string(text), `{"account":"work","scopes":[],"minimumLifetimeSeconds":0,"ofLater":{"a":1}}`)
}
