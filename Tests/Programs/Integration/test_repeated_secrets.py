"""A server that repeats the secret that it was sent: a program that may send requests and not see secrets gets no such answer."""

import base64
import http.server
import json
import threading
import unittest
import urllib.parse

from agent_fixture import AgentFixture

NOT_PERMITTED = 1007

# Passwords that look like escapes: what they spell is not what they are.
SECRETS = (
    "pass%41word", "%41%42%43%44", "say \"yes\" 8", "back\\slash\\x", "\\u0041bcdefg", "a\\/b\\/c\\/d", "100%25%25sure",
    "p\u00e4ssw\u00f6rter", "sk-plain/+&=?#:0")


class Echo:
    """Answers with `body`, whatever it is asked."""

    def __init__(self):
        self.body = b""
        echo = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", str(len(echo.body)))
                self.end_headers()
                self.wfile.write(echo.body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class RepeatedSecrets(AgentFixture):
    def test_no_spelling_of_a_secret_is_passed_on(self):
        scene, echo = self.scene(), Echo()
        self.addCleanup(echo.stop)
        client = self.client(scene)
        for number, secret in enumerate(SECRETS):
            client.call("provider.add", {"name": f"p{number}", "kind": "secret", "allowedOrigins": [echo.origin]})
            account = client.call("account.add", {"provider": f"p{number}", "secret": secret})["account"]
            grant = client.call("grant.create", {"client": f"p{number}", "accounts": [account], "methods": ["request.send"]})
            asking = self.client(scene)
            asking.call("agent.hello", {"client": {"name": "p", "version": "1"}, "grant": grant["secret"]})
            data = secret.encode()
            for spelling in (
                    data, json.dumps(secret).encode(), json.dumps(secret, ensure_ascii=False).encode(),
                    json.dumps(secret).replace("/", "\\/").encode(), urllib.parse.quote(secret, safe="").encode(),
                    urllib.parse.quote(secret).encode(), "".join(f"%{byte:02x}" for byte in data).encode(),
                    base64.b64encode(data), base64.b64encode(b"user:" + data), base64.urlsafe_b64encode(b"x" + data + b"yz")):
                with self.subTest(secret=secret, spelling=spelling):
                    echo.body = b'{"you":"' + spelling + b'"}'
                    error = self.refused(NOT_PERMITTED, lambda: asking.call(
                        "request.send", {"account": account, "method": "GET", "url": echo.origin + "/"}))
                    self.assertEqual(error.data["reason"], "tokenRepeated")
            echo.body = b'{"you":"' + data[:-1] + b'!"}'
            self.assertEqual(asking.call(
                "request.send", {"account": account, "method": "GET", "url": echo.origin + "/"})["status"], 200)


if __name__ == "__main__":
    unittest.main()
