"""What a program gets in place of an account's key, and where it goes (docs/proxy.md, Placeholders)."""

import base64
import json
import unittest
from typing import Any, Dict, List

from proxy_fixture import ProxyFixture, Request, Response, Server

KEY = "sk-key-of-the-account-0123456789"
VARIABLE = "SERVICE_API_KEY"


class Placeholders(ProxyFixture):
    """`key` is an account with a key, whose service lists a variable; `work` and `home` are as ever."""

    def setUp(self) -> None:
        super().setUp()
        self.service = self.server(lambda request: Response(200, b"served\n"))

    def add(self, placement: Dict[str, Any], username: str = "") -> str:
        """Makes the account; returns its placeholder."""
        self.key(self.service.origin, secret=KEY, username=username, placement=placement, environment=[VARIABLE])
        return "lanyard-" + str(self.caller.call("account.get", {"account": "key"})["id"])

    def variables(self, *before: str, **environment: str) -> Dict[str, str]:
        script = "import json, os; print(json.dumps(dict(os.environ)))"
        found: Dict[str, str] = json.loads(self.through("python3", "-c", script, before=before, **environment).stdout)
        return found

    def sent(self, *words: str) -> Request:
        """What the service got of a request of curl."""
        ran = self.through("sh", "-c", 'curl -sS "$@"', "-", *words)
        self.assertEqual(ran.stdout, "served\n", ran.stderr)
        return self.service.requests[-1]

    def assertTakenAway(self, placeholder: str) -> None:  # noqa: N802
        received = self.service.received()
        self.assertNotIn(placeholder, received)
        self.assertNotIn(base64.b64encode(f"user:{placeholder}".encode()).decode(), received)
        self.assertEqual(received.count(KEY), len(self.service.requests), received)

    def test_the_variable_has_a_placeholder_and_no_key(self) -> None:
        placeholder = self.add({"in": "header"})
        self.assertRegex(placeholder, r"^lanyard-acc_[0-9a-z]{26}$")
        self.assertEqual(self.variables()[VARIABLE], placeholder)
        # A key of the person's own does not go along.
        self.assertEqual(self.variables(**{VARIABLE: "own"})[VARIABLE], placeholder)

    def test_without_placeholders_the_variable_is_as_it_was(self) -> None:
        self.add({"in": "header"})
        self.assertNotIn(VARIABLE, self.variables("--no-placeholders"))
        self.assertEqual(self.variables("--no-placeholders", **{VARIABLE: "own"})[VARIABLE], "own")
        self.lanyard("exec", "key", "--no-placeholders", "--", "true", status=2)

    def test_an_account_out_of_reach_gives_none(self) -> None:
        self.add({"in": "header"})
        self.grant("other", ("work",))
        self.assertNotIn(VARIABLE, self.variables("--grant", "other"))
        self.assertNotIn(VARIABLE, self.variables("-u", "work"))

    def test_the_proxy_tells_them(self) -> None:
        placeholder = self.add({"in": "header"})
        self.assertEqual(self.proxy(account=None).announced["placeholders"], {VARIABLE: placeholder})
        self.assertNotIn("placeholders", self.proxy("--no-placeholders", account=None).announced)

    def credentials(self, placeholder: str) -> "List[List[str]]":
        """Where programs put a key, as words of curl."""
        url = self.service.origin + "/v1/models"
        return [
            ["-H", f"Authorization: Bearer {placeholder}", url], ["-H", f"X-Api-Key: {placeholder}", url],
            ["-H", f"X-Service-Token: Token {placeholder}", url], ["-u", f"user:{placeholder}", url],
            [url + f"?a=b&key={placeholder}&c=d"], [url + f"?access_token={placeholder}"], ["-b", f"session={placeholder}", url],
            [url + f"?access_token=Bearer%20{placeholder.replace('_', '%5F')};a=b"], [url + f"/a;key={placeholder}/b"],
        ]

    def taken_away(self, placement: Dict[str, Any]) -> Request:
        placeholder = self.add(placement, "robot" if placement["in"] == "basic" else "")
        for words in self.credentials(placeholder):
            with self.subTest(words=words):
                self.sent(*words)
                self.assertTakenAway(placeholder)
        return self.service.requests[0]

    def test_a_key_in_a_field_takes_its_place(self) -> None:
        got = self.taken_away({"in": "header", "name": "X-Api-Key", "format": "{secret}"})
        self.assertEqual((got.headers.get("X-Api-Key"), got.authorization), (KEY, None))

    def test_a_key_as_a_password_takes_its_place(self) -> None:
        self.assertEqual(self.taken_away({"in": "basic"}).basic, ("robot", KEY))

    def test_a_key_in_the_query_takes_its_place(self) -> None:
        self.taken_away({"in": "query", "name": "key"})
        self.assertEqual(self.service.requests[4].path, f"/v1/models?a=b&c=d&key={KEY}")

    def test_a_key_in_the_path_takes_its_place(self) -> None:
        placeholder = self.add({"in": "path", "format": "/bot{secret}"})
        got = self.sent(self.service.origin + f"/bot{placeholder}/getMe?a=b")
        self.assertEqual(got.path, f"/bot{KEY}/getMe?a=b")
        self.assertTakenAway(placeholder)
        # The policy and the log see the path that is sent, without the key.
        self.assertNotIn(placeholder, json.dumps(self.caller.call("audit.list", {"limit": 200})))

    def test_a_form_goes_on_without_it(self) -> None:
        placeholder = self.add({"in": "header"})
        got = self.sent("-d", f"token={placeholder}&text=spring", self.service.origin)
        self.assertEqual((got.body, got.headers.get("Content-Length")), (b"text=spring", "11"))
        self.assertTakenAway(placeholder)
        # In chunks, or without a type.
        for field in ("Transfer-Encoding: chunked", "Content-Type:"):
            got = self.sent("-H", field, "-d", f"token={placeholder}&text=spring", self.service.origin)
            self.assertEqual((got.body, got.headers.get("Content-Length")), (b"text=spring", "11"))
        self.assertTakenAway(placeholder)
        long = self.write("long", f"text={'x' * 200_000}")
        got = self.sent("-H", "Transfer-Encoding: chunked", "-d", f"@{long}", self.service.origin)
        self.assertEqual(got.body, b"text=" + b"x" * 200_000)
        ran = self.through("curl", "-sS", "-d", "token=own&text=spring", self.service.origin)
        self.assertIn("credential of the program's own", ran.stdout)
        # A form of which no more than a part is read before it is sent.
        form = self.write("form", f"text={'x' * (64 << 10)}&token={placeholder}")
        ran = self.through("sh", "-c", 'curl -sS -d "@$1" "$2"; true', "-", form, self.service.origin)
        self.assertIn("credential of the program's own", ran.stdout + ran.stderr)

    def test_nobody_is_told_of_a_field_that_was_taken_away(self) -> None:
        placeholder = self.add({"in": "header"})
        ran = self.through("curl", "-sS", "-H", f"X-Api-Key: {placeholder}", self.service.origin)
        self.assertEqual(ran.stderr, "")

    def test_a_key_of_the_programs_own_is_still_refused(self) -> None:
        self.add({"in": "query", "name": "key"})
        ran = self.through("curl", "-sS", self.service.origin + "/?key=own")
        self.assertIn("credential of the program's own", ran.stdout)
        self.assertEqual(self.service.requests, [])

    def test_elsewhere_it_is_good_for_nothing(self) -> None:
        placeholder = self.add({"in": "header"})
        other: Server = self.server(lambda request: Response(200, b"other\n"))
        self.through("curl", "-sS", "-H", f"X-Api-Key: {placeholder}", other.origin, status=56)
        self.assertEqual(other.requests, [])
        self.through("curl", "-sS", "-H", f"X-Api-Key: {placeholder}", other.origin, before=("--pass", other.origin))
        self.assertEqual(other.requests[-1].headers.get("X-Api-Key"), placeholder)
        self.assertNotIn(KEY, other.received())
        # An account's token does not come by the placeholder of another one.
        self.through("curl", "-sS", "-H", f"Authorization: Bearer {placeholder}", self.api.origin)
        self.assertEqual(self.api.tokens(), [self.token("work")])


if __name__ == "__main__":
    unittest.main()
