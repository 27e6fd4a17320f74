"""`lanyard request`: the parameters of `request.send`, and its answer on stdout."""

import base64
import json
import os
import subprocess

from fake_agent import Error
from people import WORK, accounts
from person import PATIENCE_SECONDS, Person

ANSWER = {
    "status": 200, "headers": {"content-type": "application/json", "x-note": "a\u001b[2Jb"}, "body": '{"id":17}',
    "attempts": 1, "refreshed": False, "account": WORK["id"],
}
URL = "https://api.example/orders/17"


class RequestTests(Person):
    def served(self, **changes):
        return self.agent({**accounts(WORK), "request.send": {**ANSWER, **changes}})

    def test_the_body_alone_goes_to_stdout(self):
        agent = self.served()
        self.assertEqual(self.answer("request", "GET", URL), '{"id":17}')
        self.assertEqual(agent.calls, [("request.send", {"account": "@active", "method": "GET", "url": URL})])

    def test_an_address_alone_is_read(self):
        agent = self.served()
        self.assertEqual(self.answer("request", URL, "-u", "work"), '{"id":17}')
        self.assertEqual(agent.params("request.send"), {"account": "work", "method": "GET", "url": URL})
        self.assertIn("`lanyard request post URL`", self.refused(2, "request", "post"))
        for body in (["-d", "a"], ["--data-file", "-"]):
            self.assertIn("`lanyard request POST URL -d …`", self.refused(2, "request", URL, *body))
        self.assertEqual(agent.methods().count("request.send"), 1)
        # Both hints, as they are meant.
        self.answer("request", "post", URL)
        self.answer("request", "POST", URL, "-d", "a")
        self.assertEqual(agent.params("request.send"), {"account": "@active", "method": "POST", "url": URL, "body": "a"})

    def test_a_warning_on_a_terminal_begins_a_line(self):
        self.served(status=404, body="gone")
        self.assertEqual(self.on_terminal("request", "GET", URL).text,
                         "gone\nlanyard: The server answered with status 404.\n")

    def test_options_become_parameters(self):
        agent = self.served()
        self.answer("request", "post", URL, "-u", "work", "-H", "Content-Type: text/plain", "-H", "X-Empty:", "-d", "a b",
                    "--idempotency-key", "k-1", "--no-auth-retry", "-t", "9", "-s", "mail.read mail.send", "--aud",
                    "https://m.example")
        self.assertEqual(agent.params("request.send"), {
            "account": "work", "method": "POST", "url": URL, "body": "a b", "idempotencyKey": "k-1",
            "headers": {"Content-Type": "text/plain", "X-Empty": ""}, "allowAuthRetry": False, "timeoutSeconds": 9,
            "scopes": ["mail.read", "mail.send"], "resource": "https://m.example"})

    def test_the_body_comes_from_a_file_or_stdin_as_it_is(self):
        agent = self.served()
        path = os.path.join(self.work, "photo")
        with open(path, "wb") as file:
            file.write(b"\xff\x00\xfe")
        self.answer("request", "PUT", URL, "--data-file", path)
        self.assertEqual(agent.params("request.send")["bodyBase64"], base64.b64encode(b"\xff\x00\xfe").decode())
        self.assertEqual(self.lanyard("request", "PUT", URL, "--data-file", "-", input="two\nlines\n").returncode, 0)
        self.assertEqual(agent.calls[-1][1]["body"], "two\nlines\n")

    def test_a_request_over_the_limit_of_a_line_is_not_sent(self):
        agent = self.served()
        file = os.path.join(self.home, "body")
        for body in (b"x" * (1 << 20), b"\xff" * 786_432, b'"' * (1 << 19)):
            with open(file, "wb") as out:
                out.write(body)
            self.assertIn("1 MiB", self.refused(2, "request", "PUT", URL, "--data-file", file))
        self.assertNotIn("request.send", agent.methods())

    def test_bytes_of_the_response_are_not_changed(self):
        self.served(body=None, bodyBase64=base64.b64encode(b"\x89PNG\x00\xff").decode())
        done = subprocess.run(self.command(["request", "GET", URL]), env=self.settings(None), cwd=self.work,
                              capture_output=True, timeout=PATIENCE_SECONDS)
        self.assertEqual((done.returncode, done.stdout), (0, b"\x89PNG\x00\xff"), done.stderr)

    def test_an_answer_without_a_body_prints_nothing(self):
        answer = {key: value for key, value in ANSWER.items() if key != "body"}
        self.agent({**accounts(WORK), "request.send": {**answer, "status": 204}})
        self.assertEqual(self.answer("request", "DELETE", URL), "")

    def test_a_status_that_is_no_success_ends_with_1(self):
        self.served(status=404, body="no such order")
        done = self.lanyard("request", "GET", URL)
        self.assertEqual((done.returncode, done.stdout), (1, "no such order"))
        self.assertEqual(done.stderr, "lanyard: The server answered with status 404.\n")

    def test_include_tells_the_status_and_the_fields_first(self):
        self.served()
        out = self.answer("request", "GET", URL, "--include")
        head, body = out.split("\n\n")
        self.assertEqual((head.splitlines()[:2], body), (["HTTP 200", "content-type: application/json"], '{"id":17}'))
        self.assertNotIn("\x1b", out)

    def test_json_is_the_whole_answer(self):
        self.served(status=500)
        done = self.lanyard("request", "GET", URL, "--json")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertEqual(json.loads(done.stdout), json.loads(json.dumps({**ANSWER, "status": 500})))

    def test_mistakes_are_usage(self):
        agent = self.served()
        for words in (["GET"], ["GET", URL, "-H", "no colon"], ["GET", URL, "-d", "a", "--data-file", "b"],
                      ["GET", URL, "-t", "-1"], ["GET", URL, "--data-file", "/nowhere/at/all"]):
            self.refused(2, "request", *words)
        self.assertEqual(agent.calls, [])

    def test_a_demand_for_the_person_names_the_command_that_meets_it(self):
        self.agent({**accounts(WORK), "request.send": Error(
            2005, "interactionRequired", account=WORK["id"], acrValues=["urn:mfa", "it's $HOME"], maxAgeSeconds=300,
            scopes=["orders:write"], claims='{"id_token":{}}', remedies=["interact", "reauthenticate"])})
        done = self.lanyard("request", "GET", URL)
        self.assertEqual(done.returncode, 4)
        self.assertIn(
            "`lanyard login --account work --acr urn:mfa --acr 'it'\\''s $HOME' --max-age 300 -s orders:write"
            " --claims '{\"id_token\":{}}'`", done.stderr)
        self.assertEqual(done.stderr.count("lanyard login"), 1)

    def test_no_answer_says_whether_the_request_was_sent(self):
        self.agent({**accounts(WORK), "request.send": Error(
            3002, "providerUnavailable", "The request was sent, and no complete response came.", outcome="unknown")})
        done = self.lanyard("request", "POST", URL)
        self.assertEqual((done.returncode, done.stdout), (5, ""))
        self.assertIn("The request was sent", done.stderr)
