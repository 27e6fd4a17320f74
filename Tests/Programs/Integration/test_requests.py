"""`request.send` with nginx as the resource server: TLS of a private authority, a token check, a proxy, large answers."""

import base64
import http.server
import json
import os
import shutil
import socket
import subprocess
import threading
import time
import unittest
import urllib.parse
import urllib.request

from agent_fixture import PATIENCE_SECONDS, AgentFixture, LanyardError, import_account
from harness import SCOPES

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
LARGEST = 4 << 20
REPORT = os.urandom(1 << 20)
FAR = "api.example.test"
# The machine's own choice of authorities and proxies would count instead of that of a test.
for variable in ("CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "https_proxy", "HTTPS_PROXY", "all_proxy"):
    os.environ.pop(variable, None)

CONFIGURATION = """\
daemon off;
worker_processes 1;
pid %(directory)s/nginx.pid;
error_log %(directory)s/nginx.log;
events {}
http {
  access_log %(directory)s/access.log;
  client_body_temp_path %(directory)s/t1; proxy_temp_path %(directory)s/t2; fastcgi_temp_path %(directory)s/t3;
  uwsgi_temp_path %(directory)s/t4; scgi_temp_path %(directory)s/t5;
  client_max_body_size 2m;
  gzip on; gzip_min_length 1; gzip_types application/json;
  server {
    listen 127.0.0.1:%(port)d ssl;
    ssl_certificate %(directory)s/server.pem;
    ssl_certificate_key %(directory)s/server.key;
    root %(directory)s/files;
    auth_request /_check;
    default_type application/octet-stream;
    add_header X-Connection $connection always;
    location = /_check {
      internal;
      proxy_pass %(issuer)s/userinfo;
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
      proxy_method GET;
    }
    location / { types { application/json json; } }
    location = /none { auth_request off; return 204; }
    location /backend/ { proxy_pass http://127.0.0.1:%(backend)d/; proxy_buffering off; proxy_http_version 1.1; }
  }
}
"""


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


class Backend(http.server.ThreadingHTTPServer):
    """Serves what nginx does not have, and also by itself, over plain HTTP."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self):
        self.gone = threading.Event()
        self.arrived = threading.Event()
        backend = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle(self):
                try:
                    super().handle()
                except ConnectionError:
                    pass  # the agent closed the connection
                backend.gone.set()

            def do_GET(self):
                if self.path == "/endless":
                    self.send_response(200)
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    backend.arrived.set()
                    try:
                        while True:
                            self.wfile.write(b"1\r\n.\r\n")
                            time.sleep(0.05)
                    except OSError:
                        return backend.gone.set()
                self.send_response(200)
                if self.path == "/report":
                    self.send_header("Content-Length", str(len(REPORT)))
                    self.end_headers()
                    return self.wfile.write(REPORT)
                if self.path == "/bomb":
                    for number in range(300):
                        self.send_header(f"X-Bomb-{number}", "b")
                if self.path == "/long":
                    for number in range(40):
                        self.send_header(f"X-Long-{number}", "b" * 3000)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/lost":
                    backend.arrived.set()
                    self.connection.recv(1)
                    return backend.gone.set()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Tunnel(threading.Thread):
    """A proxy that tunnels every name to one port (RFC 9110 section 9.3.6)."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.asked = []
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.start()

    def run(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            head = b""
            while b"\r\n\r\n" not in head:
                head += near.recv(65536)
            self.asked.append(head.split(b"\r\n")[0].decode())
            far = socket.create_connection(("127.0.0.1", self._target))
            near.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        finally:
            one.close()

    def stop(self):
        self._listener.close()


@unittest.skipUnless(NGINX, "nginx is not installed")
class Requests(AgentFixture):
    def setUp(self):
        self.directory_ = self.directory()
        self.identity = self.provider()
        self.backend = Backend()
        self.addCleanup(self.backend.server_close)
        self.addCleanup(self.backend.shutdown)
        self.certificates()
        os.mkdir(os.path.join(self.directory_, "files"))
        self.start_nginx()
        self.url = f"https://localhost:{self.port}"
        self.agent = self.scene()
        self.caller = self.client(self.agent)
        self.caller.call("provider.add", {
            "name": "practice", "issuer": self.identity.issuer, "clientId": "lanyard-demo", "scopes": SCOPES,
            "caFile": self.authority, "allowedOrigins": [self.url, f"https://{FAR}", self.backend.url]})
        import_account(self.caller, self.identity, "alice", alias="alice")

    def certificates(self):
        def path(name):
            return os.path.join(self.directory_, name)

        self.authority = path("ca.pem")
        new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        openssl(*new, "-x509", "-days", "2", "-subj", "/CN=authority", "-keyout", path("ca.key"), "-out", self.authority)
        openssl(*new, "-subj", "/CN=localhost", "-keyout", path("server.key"), "-out", path("server.csr"))
        with open(path("names"), "w") as file:
            file.write(f"subjectAltName=DNS:localhost,DNS:{FAR}\n")
        openssl("x509", "-req", "-in", path("server.csr"), "-CA", self.authority, "-CAkey", path("ca.key"),
                "-CAcreateserial", "-days", "2", "-extfile", path("names"), "-out", path("server.pem"))

    def start_nginx(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        configuration = os.path.join(self.directory_, "nginx.conf")
        with open(configuration, "w") as file:
            file.write(CONFIGURATION % {
                "directory": self.directory_, "port": self.port, "issuer": self.identity.issuer,
                "backend": self.backend.server_port})
        # As another user its worker could not read the files.
        more = ["-g", "user root;"] if os.geteuid() == 0 else []
        process = subprocess.Popen([NGINX, "-c", configuration, "-p", self.directory_, *more], stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)

        def accepts():
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", self.port)) == 0

        self.until(accepts, "nginx accepts")

    def file(self, name, content):
        with open(os.path.join(self.directory_, "files", name), "wb") as file:
            file.write(content)
        return f"{self.url}/{name}"

    def send(self, method, url, account="alice", **members):
        return self.caller.call("request.send", {"account": account, "method": method, "url": url, **members})

    def refusal(self, method, url, **members):
        with self.assertRaises(LanyardError) as caught:
            self.send(method, url, **members)
        return caught.exception.code, caught.exception.data

    # What is sent and answered

    def test_answers_arrive_as_they_are(self):
        order = self.file("order.json", b'{"id":17}' * 100)
        told = self.send("GET", order)
        self.assertEqual((told["status"], told["body"], told["attempts"]), (200, '{"id":17}' * 100, 1))
        # nginx compressed it, since the agent accepts that.
        self.assertNotIn("content-encoding", told["headers"])
        head = self.send("HEAD", order)
        self.assertEqual((head["status"], head["body"]), (200, ""))
        self.assertEqual(self.send("GET", f"{self.url}/none")["status"], 204)
        self.assertEqual(self.send("GET", f"{self.url}/missing")["status"], 404)
        photo = self.send("GET", self.file("photo", b"\x89PNG\xff\x00"))
        self.assertNotIn("body", photo)
        self.assertEqual(base64.b64decode(photo["bodyBase64"]), b"\x89PNG\xff\x00")

    def test_bodies_are_sent_as_they_are(self):
        echo = f"{self.url}/backend/echo"
        text = "0123456789abcdef" * 65_000
        self.assertEqual(self.send("POST", echo, body=text)["body"], text)
        data = bytes(range(256)) * 2_000
        told = self.send("POST", echo, bodyBase64=base64.b64encode(data).decode())
        self.assertEqual(base64.b64decode(told["bodyBase64"]), data)

    def test_answer_up_to_the_limit_and_beyond(self):
        told = self.send("GET", self.file("largest", b"a" * LARGEST))
        self.assertEqual((told["status"], len(told["body"])), (200, LARGEST))
        binary = self.send("GET", self.file("largest-binary", b"\xff" * LARGEST))
        self.assertEqual(len(base64.b64decode(binary["bodyBase64"])), LARGEST)
        code, data = self.refusal("GET", self.file("larger", b"a" * (LARGEST + 1)))
        self.assertEqual((code, data["reason"], data["outcome"]), (1003, "responseTooLarge", "unknown"))

    def test_too_many_and_too_long_header_fields_are_refused(self):
        for path in ("bomb", "long"):
            code, data = self.refusal("GET", f"{self.backend.url}/{path}")
            self.assertEqual((code, data["reason"]), (1003, "responseTooLarge"), path)

    def test_answer_without_an_end_takes_no_longer_than_allowed(self):
        code, data = self.refusal("GET", f"{self.url}/backend/endless", timeoutSeconds=1)
        self.assertEqual((code, data["outcome"]), (1006, "unknown"))
        self.assertTrue(self.backend.gone.wait(PATIENCE_SECONDS), "the connection was closed")

    # The token

    def test_refused_token_is_replaced_once(self):
        order = self.file("order.json", b"{}")
        self.assertEqual(self.send("GET", order)["attempts"], 1)
        self.revoke(self.caller.call("token.get", {"account": "alice"})["accessToken"])
        told = self.send("GET", order)
        self.assertEqual((told["status"], told["attempts"], told["refreshed"]), (200, 2, True))
        self.assertEqual(self.identity.asked("/token"), 2)

    def revoke(self, token):
        """At the provider, without the agent."""
        form = urllib.parse.urlencode({"token": token, "token_type_hint": "access_token", "client_id": "lanyard-demo"})
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            f"{self.identity.issuer}/revoke", form.encode(), timeout=PATIENCE_SECONDS).close()

    # The way

    def test_without_its_authority_nothing_is_sent(self):
        self.caller.call("provider.update", {"provider": "practice", "caFile": ""})
        code, data = self.refusal("GET", f"{self.url}/none")
        self.assertEqual((code, data["reason"], data["outcome"]), (3004, "unknownAuthority", "notSent"))

    def test_authority_of_the_configuration_file_counts(self):
        self.caller.call("provider.update", {"provider": "practice", "caFile": ""})
        path = os.path.join(self.agent.environment["XDG_CONFIG_HOME"], "lanyard", "agent.json")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            json.dump({"caFile": self.authority}, file)
        os.chmod(path, 0o600)
        self.agent.end()
        self.agent.start()
        self.caller = self.client(self.agent)
        self.assertEqual(self.send("GET", f"{self.url}/none")["status"], 204)

    def test_requests_go_through_the_provider_s_proxy(self):
        tunnel = Tunnel(self.port)
        self.addCleanup(tunnel.stop)
        self.caller.call("provider.update", {"provider": "practice", "proxy": tunnel.url})
        for _ in range(2):
            self.assertEqual(self.send("GET", f"https://{FAR}/none")["status"], 204)
        self.assertEqual(tunnel.asked, [f"CONNECT {FAR}:443 HTTP/1.1"], "one tunnel for both")
        # This machine is reached without one.
        self.assertEqual(self.send("GET", f"{self.url}/none")["status"], 204)
        self.assertEqual(len(tunnel.asked), 1)

    # Connections

    def connection(self, account="alice"):
        return self.send("GET", self.file("order.json", b"{}"), account)["headers"]["x-connection"]

    def test_connections_are_kept_for_one_account_until_it_signs_out_or_the_vault_is_locked(self):
        import_account(self.caller, self.identity, "bob", alias="bob")
        alice, bob = self.connection(), self.connection("bob")
        self.assertNotEqual(alice, bob)
        self.assertEqual((self.connection(), self.connection("bob")), (alice, bob))
        self.caller.call("account.signOut", {"account": "bob", "mode": "soft"})
        self.assertEqual(self.connection(), alice)
        self.caller.call("agent.lock")
        self.caller.call("agent.unlock")
        again = self.connection()
        self.assertNotEqual(again, alice)
        self.caller.call("provider.update", {"provider": "practice", "allowedOrigins": [self.url]})
        self.assertNotEqual(self.connection(), again)

    def test_sign_out_closes_the_idle_connection(self):
        self.assertEqual(self.send("GET", f"{self.backend.url}/order")["status"], 200)
        self.assertFalse(self.backend.gone.is_set())
        self.caller.call("account.signOut", {"account": "alice", "mode": "offline"})
        self.assertTrue(self.backend.gone.wait(PATIENCE_SECONDS))

    def test_restarted_server_is_asked_again_without_an_error(self):
        first = self.connection()
        with open(os.path.join(self.directory_, "nginx.pid")) as file:
            os.kill(int(file.read()), 1)  # reload: idle connections are closed
        self.until(lambda: self.connection() != first, "a new connection")

    # Answers that wait for a client

    def test_unread_long_answers_take_bounded_memory(self):
        # Not through nginx, whose token check is slow for so many at once.
        report, small = f"{self.backend.url}/report", f"{self.backend.url}/small"
        self.send("GET", report)  # what libcurl needs is there
        before = self.resident_bytes()
        count = 80
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(self.agent.socket)
            raw.settimeout(PATIENCE_SECONDS)
            for number in range(count):
                request = {"account": "alice", "method": "GET", "url": report}
                raw.sendall(json.dumps(
                    {"jsonrpc": "2.0", "id": number, "method": "request.send", "params": request}).encode() + b"\n")
            largest = 0
            # As much as arrives without a reader: until the memory has not grown for ten looks.
            looks = 0
            while looks < 10:
                self.assertEqual(self.send("GET", small)["status"], 200)
                now = self.resident_bytes() - before
                looks = 0 if now > largest else looks + 1
                largest = max(largest, now)
            # 32 answers with their lines (82 MB); all would take over 200.
            self.assertLess(largest, 150 << 20)
            lines = raw.makefile()
            told = [json.loads(lines.readline()) for _ in range(count)]
        self.assertEqual({one["id"] for one in told}, set(range(count)))
        self.assertTrue(all(one["result"]["status"] == 200 for one in told))

    def resident_bytes(self):
        with open(f"/proc/{self.agent.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("RssAnon")) << 10

    # Cancellation

    def test_cancelled_request_closes_its_connection(self):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(self.agent.socket)
            raw.settimeout(PATIENCE_SECONDS)
            request = {"account": "alice", "method": "POST", "url": f"{self.backend.url}/lost", "body": "x"}
            raw.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "request.send", "params": request}).encode())
            raw.sendall(b"\n")
            self.assertTrue(self.backend.arrived.wait(PATIENCE_SECONDS))
            raw.sendall(b'{"jsonrpc":"2.0","method":"$/cancel","params":{"id":1}}\n')
            told = json.loads(raw.makefile().readline())
        self.assertEqual((told["error"]["code"], told["error"]["data"]["outcome"]), (1004, "unknown"))
        self.assertTrue(self.backend.gone.wait(PATIENCE_SECONDS), "the server sees the end")

    def test_caller_that_goes_away_closes_the_connection(self):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(self.agent.socket)
            request = {"account": "alice", "method": "GET", "url": f"{self.backend.url}/endless"}
            raw.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "request.send", "params": request}).encode())
            raw.sendall(b"\n")
            self.assertTrue(self.backend.arrived.wait(PATIENCE_SECONDS))
        self.assertTrue(self.backend.gone.wait(PATIENCE_SECONDS))


if __name__ == "__main__":
    unittest.main()
