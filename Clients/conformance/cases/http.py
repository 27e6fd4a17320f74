"""The HTTP helper: the token goes to the named origins, and a 401 is answered once."""

import http.server
import threading

from failures import CaseFailed, same
from lines import SECRET, token
from trial import case


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that hangs up is its own affair: the case looks at what was asked."""


class Resource:
    """A resource server on loopback; `answers` are (status, headers) in turn, the last one for ever."""

    def __init__(self, t, *answers):
        self.requests = []
        self.answers = answers = list(answers)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(handler):
                length = int(handler.headers.get("content-length") or 0)
                body = handler.rfile.read(length).decode()
                self.requests.append((handler.command, handler.path, dict(handler.headers.items()), body))
                status, headers = answers.pop(0) if len(answers) > 1 else answers[0]
                text = f"answer {len(self.requests)}".encode()
                handler.send_response(status)
                for name, value in headers.items():
                    handler.send_header(name, value)
                handler.send_header("content-length", str(len(text)))
                handler.end_headers()
                handler.wfile.write(text)

            do_GET = do_POST = handle_any

            def log_message(handler, *_):
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        t.closes(self.close)

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def headers(self, index):
        return {name.lower(): value for name, value in self.requests[index][2].items()}


def fetch(t, resource, path="/me", **members):
    return t.driver.send(
        "http", client="c", account="work", origins=[resource.origin], url=resource.origin + path, **members)


@case("http: the token is sent", "http")
def sends_the_token(t):
    peer, resource = t.connected(), Resource(t, (200, {}))
    number = fetch(t, resource)
    request = peer.request("token.get")
    same(request["params"].get("account"), "work", "`account` of the params")
    peer.answer(request, token())
    same(t.driver.result(number), {"status": 200, "body": "answer 1"}, "the result")
    same(resource.headers(0).get("authorization"), f"Bearer {SECRET}", "the header")


@case("http: a 401 is reported, and the request sent once more", "http")
def unauthorized(t):
    challenge = 'Bearer error="invalid_token"'
    peer, resource = t.connected(), Resource(t, (401, {"WWW-Authenticate": challenge}), (200, {}))
    number = fetch(t, resource, method="POST", body="the body")
    peer.answer(peer.request("token.get"), token())
    request = peer.request("token.reject")
    wanted = {"account": "work", "fingerprint": "k3Jt0Qe1", "challenge": challenge}
    same(request["params"], wanted, "the params of token.reject")
    peer.answer(request, token(accessToken="not-a-real-second", fingerprint="second", source="refreshed"))
    same(t.driver.result(number), {"status": 200, "body": "answer 2"}, "the result")
    same([r[3] for r in resource.requests], ["the body", "the body"], "the bodies")
    same(resource.headers(1).get("authorization"), "Bearer not-a-real-second", "the header")


@case("http: a second 401 is the answer", "http")
def unauthorized_twice(t):
    peer, resource = t.connected(), Resource(t, (401, {}))
    number = fetch(t, resource)
    peer.answer(peer.request("token.get"), token())
    peer.answer(peer.request("token.reject"), token(fingerprint="second"))
    same(t.driver.result(number)["status"], 401, "the status")
    same(len(resource.requests), 2, "the number of requests")
    peer.silent()


@case("http: no token is an error, and nothing is sent", "http")
def no_token(t):
    peer, resource = t.connected(), Resource(t, (200, {}))
    number = fetch(t, resource)
    peer.fail(peer.request("token.get"), 2004, "reauthenticationRequired", remedies=["reauthenticate"])
    same(t.driver.error(number, "agent")["code"], 2004, "the code")
    same(resource.requests, [], "the requests")


@case("http: another origin gets no token", "http")
def other_origin(t):
    peer, resource = t.connected(), Resource(t, (200, {}))
    for origin in ("http://127.0.0.1:1", resource.origin.replace("127.0.0.1", "127.0.0.2"), resource.origin + "0",
                   resource.origin.replace("http:", "https:")):
        number = t.driver.send("http", client="c", account="work", origins=[origin], url=resource.origin + "/me")
        t.driver.error(number, "originRefused")
    for url in (resource.origin.replace("http://", "http://user@"), "file:///etc/hostname", "http://"):
        number = t.driver.send("http", client="c", account="work", origins=["http://127.0.0.1:1"], url=url)
        t.driver.error(number)
    peer.silent(0.1)
    same(resource.requests, [], "the requests")


@case("http: plain HTTP only to this machine", "http")
def plain_http(t):
    t.connected()
    for origin in ("http://api.example", "http://192.0.2.1", "http://localhost.example", "http://127.0.0.1.example"):
        number = t.driver.send("http", client="c", account="work", origins=[origin], url=origin + "/me")
        t.driver.error(number, "originRefused")


@case("http: a redirect to another origin carries no token", "http")
def redirected(t):
    peer, other = t.connected(), Resource(t, (200, {}))
    resource = Resource(t, (302, {"Location": other.origin + "/stolen"}))
    number = fetch(t, resource)
    peer.answer(peer.request("token.get"), token())
    t.driver.next(number)
    for index in range(len(other.requests)):
        if SECRET in str(other.headers(index)):
            raise CaseFailed("the other origin got the token")


@case("http: a redirect to another origin and back carries no token", "http")
def bounced(t):
    peer = t.connected()
    resource = Resource(t, (302, {}), (200, {}))
    other = Resource(t, (302, {"Location": resource.origin + "/chosen"}))
    resource.answers[0] = (302, {"Location": other.origin + "/bounce"})
    number = fetch(t, resource)
    peer.answer(peer.request("token.get"), token())
    t.driver.next(number)
    for index in range(1, len(resource.requests)):
        same(resource.headers(index).get("authorization"), None, "the header field after the way back")


@case("http: a header of the caller does not replace the token twice", "http")
def one_header(t):
    peer, resource = t.connected(), Resource(t, (200, {}))
    number = fetch(t, resource)
    peer.answer(peer.request("token.get"), token())
    t.driver.result(number)
    names = [name.lower() for name in resource.requests[0][2]]
    same(names.count("authorization"), 1, "the number of headers")


@case("http: scopes and resource of the token", "http")
def scopes(t):
    peer, resource = t.connected(), Resource(t, (200, {}))
    number = t.driver.send(
        "http", client="c", account="work", origins=[resource.origin], url=resource.origin + "/me",
        scopes=["a", "b"], resource="https://api.example")
    request = peer.request("token.get")
    same(request["params"].get("scopes"), ["a", "b"], "`scopes` of the params")
    same(request["params"].get("resource"), "https://api.example", "`resource` of the params")
    peer.answer(request, token())
    t.driver.result(number)


@case("http: a bound token goes with a proof", "http")
def bound(t):
    peer, resource = t.connected(), Resource(t, (200, {}))
    number = fetch(t, resource, "/me?q=1", method="POST", body="x")
    peer.answer(peer.request("token.get"), token(tokenType="DPoP"))
    request = peer.request("token.proof")
    same(request["params"].get("account"), "work", "`account` of the params")
    same(request["params"].get("method"), "POST", "`method` of the params")
    if not request["params"].get("url", "").startswith(resource.origin + "/me"):
        raise CaseFailed("the proof is for another URL")
    same(request["params"].get("fingerprint"), "k3Jt0Qe1", "`fingerprint` of the params")
    peer.answer(request, {"proof": "not-a-real-proof", "thumbprint": "t", "account": token()["account"]})
    t.driver.result(number)
    same(resource.headers(0).get("authorization"), f"DPoP {SECRET}", "the header")
    same(resource.headers(0).get("dpop"), "not-a-real-proof", "the proof")


@case("http: a proof with the server's nonce", "http")
def nonce(t):
    refusal = {"WWW-Authenticate": 'DPoP error="use_dpop_nonce"', "DPoP-Nonce": "nonce-1"}
    peer, resource = t.connected(), Resource(t, (401, refusal), (200, {}))
    number = fetch(t, resource)
    peer.answer(peer.request("token.get"), token(tokenType="DPoP"))
    proof = {"proof": "not-a-real-proof", "thumbprint": "t", "account": token()["account"]}
    peer.answer(peer.request("token.proof"), proof)
    request = peer.request("token.proof")
    same(request["params"].get("nonce"), "nonce-1", "`nonce` of the params")
    peer.answer(request, {**proof, "proof": "not-a-real-second-proof"})
    same(t.driver.result(number)["status"], 200, "the status")
    same(resource.headers(1).get("dpop"), "not-a-real-second-proof", "the proof")
