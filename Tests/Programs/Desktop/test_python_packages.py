"""pip, uv and twine with an index that wants a token as password, by the command `keyring` and by the backend of keyring."""

import atexit
import base64
import functools
import hashlib
import http.server
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import unittest
import zipfile

from desktop_fixture import LIFETIME_SECONDS, ROOT, Desktop, Response, certificates, forward, python_packages
from forms import in_quick_form


@functools.lru_cache(maxsize=None)
def lanyard_for_python():
    """A folder with the Python client as pip installs it, and so with its entry points."""
    folder = tempfile.mkdtemp(prefix="lanyard-desktop-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # A build writes beside the sources.
    left_out = shutil.ignore_patterns("tests", "build", "*.egg-info", "__pycache__")
    source = shutil.copytree(os.path.join(ROOT, "Clients", "python"), os.path.join(folder, "source"), ignore=left_out)
    installed = os.path.join(folder, "installed")
    subprocess.run(
        [os.path.join(python_packages(), "python"), "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
         "--no-build-isolation", "--disable-pip-version-check", "--target", installed, source],
        check=True)
    return installed


def wheel(folder, name, version):
    """A wheel of one empty module; its path."""
    information = f"{name}-{version}.dist-info"
    path = os.path.join(folder, f"{name}-{version}-py3-none-any.whl")
    files = {
        f"{name}.py": f"version = {version!r}\n",
        f"{information}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{information}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "".join(
        f"{file},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},{len(text)}\n"
        for file, text in files.items())
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in {**files, f"{information}/RECORD": record + f"{information}/RECORD,,\n"}.items():
            archive.writestr(file, text)
    return path


class Index:
    """pypiserver without authentication, behind a TLS server that wants a token as password."""

    def __init__(self, test):
        self._test = test
        self.folder = tempfile.mkdtemp(prefix="index-", dir=test.place)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._process = test.background(
            os.path.join(python_packages(), "pypi-server"), "run", "--port", str(self._port), "--interface", "127.0.0.1",
            "--passwords", ".", "--authenticate", ".", "--disable-fallback", self.folder)
        test.until(self._accepts, "pypiserver")
        self.server = test.server(self._answer)
        self.url = f"{self.server.origin}/simple/"
        self.before = lambda request: None
        """Called before each answer; what it returns is the answer."""

    def _accepts(self):
        if self._process.poll() is not None:
            raise AssertionError(self._process.stdout.read())
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def _answer(self, request):
        answer = self.before(request)
        if answer is not None:
            return answer
        if not (request.basic and self._test.is_good(request.token)):
            return Response(401, b"a token, please", [("WWW-Authenticate", 'Basic realm="index"')])
        return forward(request, self._port, Authorization=None)


class TheBackend(Desktop):
    """The backend of the Python client, which pip asks by the Python library keyring."""

    def test_the_backend_of_keyring_answers_a_whole_url_alone(self):
        """pip asks for the URL of an index, and then for its host, also where the index is reached without TLS."""
        host = "index.example"
        self.rule(f"https://{host}")
        whole = [f"https://{host}/simple/", f"https://{host}", f"HTTPS://{host}:443/simple/"]
        other = [host, f"{host}:443", f"//{host}/simple/", f"http://{host}/simple/", f"http://{host}", f"https:{host}", f"://{host}",
                 f"ftp://{host}/", f"https://{host}@evil.example/", f"https://evil.example/?@{host}", f"https://{host}\\@evil.example/",
                 f" https://{host}/", f"https://{host}/\n", "", "*"]
        script = """
import sys
from lanyard.auth.keyring import LanyardKeyring
for service in sys.argv[1:]:
    for user in ("alice", "__token__"):
        print(LanyardKeyring().get_password(service, user) is not None, end=" ")
    print(LanyardKeyring().get_credential(service, None) is not None)
"""
        ran = self.tool(
            os.path.join(python_packages(), "python"), "-c", script, *whole, *other, PYTHONPATH=lanyard_for_python())
        self.assertEqual(ran.stdout.splitlines(), ["True True True"] * len(whole) + ["False False False"] * len(other))


@in_quick_form()
class PythonPackages(Desktop):
    def setUp(self):
        super().setUp()
        self.bin = python_packages()
        self.python = os.path.join(self.bin, "python")
        self.target = os.path.join(self.place, "installed")
        self.index = Index(self)
        self.rule(self.index.server.origin)

    def environment(self, **more):
        authority = certificates().authority
        return super().environment(**{
            "PIP_CERT": authority, "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_CACHE_DIR": "1",
            "UV_CACHE_DIR": os.path.join(self.place, "uv"), "TWINE_CERT": authority, "COLUMNS": "400", **more})


class Installers:
    """What holds for each tool that installs from an index. A subclass has `install`."""

    signed_out = "lanyard login"
    """What the tool says for an account that is signed out."""

    def setUp(self):
        super().setUp()
        self.link("keyring")
        wheel(self.index.folder, "acme", "1.0")

    def assertInstalled(self):  # noqa: N802
        with open(os.path.join(self.target, "acme.py"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "version = '1.0'\n")
        shutil.rmtree(self.target)

    def with_user(self, url):
        return url.replace("https://", "https://alice@")

    def test_it_installs_with_the_token_as_password(self):
        self.install(self.with_user(self.index.url))
        self.assertInstalled()
        self.assertEqual(self.index.server.tokens(), [self.token()])
        self.assertEqual({request.basic[0] for request in self.index.server.requests if request.token}, {"alice"})

    def test_it_gives_an_index_without_tls_nothing(self):
        """The tool asks for its URL, and pip then for its host. Both are told nothing, though a rule for https covers the
        host."""
        seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append(self.headers.get("Authorization"))
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="index"')
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        plain = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.addCleanup(plain.server_close)
        self.addCleanup(plain.shutdown)
        threading.Thread(target=plain.serve_forever, daemon=True).start()
        place = f"localhost:{plain.server_port}"
        self.rule(f"https://{place}")
        token = self.token()
        for url in (f"http://{place}/simple/", f"http://alice@{place}/simple/"):
            self.install(url, status=None)
        self.assertTrue(seen)
        for authorization in filter(None, seen):
            self.assertNotIn(token, base64.b64decode(authorization.split()[1]).decode())

    def test_it_gives_another_index_nothing(self):
        other = Index(self)
        wheel(other.folder, "acme", "1.0")
        self.install(self.with_user(other.url), status=None)
        self.assertNothingCame(other.server)

    def test_it_says_what_to_do_when_signed_out(self):
        self.sign_out()
        ran = self.install(self.with_user(self.index.url), status=None)
        self.assertEqual(self.index.server.tokens(), [])
        self.assertIn(self.signed_out, ran.stdout + ran.stderr)


class Refusals(Installers):
    """What follows when an index refuses a token, or has its files elsewhere."""

    def until_the_token_ends(self):
        """Has the index answer the first request for a file when the token of that request has ended."""

        def wait(request):
            if request.path.endswith(".whl") and len(self.index.server.tokens()) == 1:
                self.idp.post("options", accessTokenLifetimeSeconds=LIFETIME_SECONDS)
                self.ended(request.token)

        self.index.before = wait
        return self.short_lifetimes()

    def test_it_fails_with_a_revoked_token_and_asks_for_no_other(self):
        """The protocol has no word for a refused token: the tool fails with its own error, and no token is asked for at the
        provider. `lanyard token --force` makes the next run work."""
        revoked = self.token()
        self.revoke(revoked)
        exchanges = self.exchanges()
        ran = self.install(self.with_user(self.index.url), status=None)
        self.assertRegex(ran.stdout + ran.stderr, "401|[Uu]nauthorized|Credentials not correct")
        self.assertEqual(self.index.server.tokens(), [revoked])
        self.assertLess(len(self.index.server.requests), 8)
        self.assertEqual(self.exchanges(), exchanges)
        self.lanyard("token", "work", "--force")
        self.install(self.with_user(self.index.url))
        self.assertInstalled()

    def test_it_takes_no_token_along_to_where_a_file_lies(self):
        other = Index(self)
        wheel(other.folder, "acme", "1.0")
        link = f"https://alice@{other.server.place}/packages/acme-1.0-py3-none-any.whl"
        page = f'<!DOCTYPE html><html><body><a href="{link}">acme</a></body></html>'.encode()
        token = self.token()
        self.index.before = lambda request: (
            Response(200, page, [("Content-Type", "text/html")]) if request.token == token else None)
        self.install(self.with_user(self.index.url), status=None)
        self.assertEqual(self.index.server.tokens(), [self.token()])
        self.assertNothingCame(other.server)


class WithPip(Refusals, PythonPackages):
    """The pip of requirements.txt, which asks `keyring` for JSON, and shows nothing of what that writes on stderr."""

    signed_out = "No matching distribution found"

    def install(self, url, provider="subprocess", **more):
        return self.tool(
            self.python, "-m", "pip", "install", "--no-input", "--no-deps", "--quiet", "--keyring-provider", provider, "--target",
            self.target, "--upgrade", "--index-url", url, "acme==1.0", **more)

    def test_it_needs_no_user_in_the_url(self):
        self.install(self.index.url)
        self.assertInstalled()
        self.assertEqual({request.basic[0] for request in self.index.server.requests if request.token}, {"oauth2"})

    def test_it_installs_with_a_key_as_password(self):
        other = Index(self)
        wheel(other.folder, "acme", "1.0")
        key = self.key(other.server.origin, username="robot")
        self.rule(other.server.origin, "key")
        self.install(other.url)
        self.assertInstalled()
        self.assertEqual(other.server.tokens(), [key])
        self.assertEqual({request.basic[0] for request in other.server.requests if request.token}, {"robot"})

    def test_one_run_gets_a_new_token_when_the_old_one_ends(self):
        """pip asks `keyring` again after a refusal."""
        exchanges = self.exchanges()
        with self.until_the_token_ends():
            self.install(self.with_user(self.index.url))
        self.assertInstalled()
        old, new = self.index.server.tokens()
        self.assertFalse(self.is_good(old))
        self.assertEqual(new, self.token())
        # One for the short token, one for the new one; on a slow machine the short one is replaced before pip asks for it.
        self.assertIn(self.exchanges() - exchanges, (2, 3))

    def install_by_the_library(self, **more):
        """Installs while pip asks the Python library keyring, and that the backend of the Python client."""
        return self.install(
            self.index.url, provider="import", PYTHONPATH=lanyard_for_python(),
            LANYARD_KEYRING=f"{self.index.server.origin}=work", **more)

    def test_it_installs_by_the_backend_of_keyring(self):
        self.install_by_the_library()
        self.assertInstalled()
        self.assertEqual(self.index.server.tokens(), [self.token()])

    def test_it_says_lanyard_login_when_signed_out_and_asking_the_backend_of_keyring(self):
        self.sign_out()
        ran = self.install_by_the_library(status=None)
        self.assertIn("lanyard login", ran.stdout + ran.stderr)
        self.assertEqual(self.index.server.tokens(), [])


class WithAnOlderPip(Installers, PythonPackages):
    """The last pip that asks `keyring` for the password of a user, as uv does."""

    def install(self, url, **more):
        return self.tool(
            os.path.join(python_packages("older-pip"), "python"), "-m", "pip", "install", "--no-input", "--no-deps", "--quiet",
            "--keyring-provider", "subprocess", "--target", self.target, "--upgrade", "--index-url", url, "acme==1.0", **more)


class WithUV(Refusals, PythonPackages):
    def uv(self, *words, **more):
        return self.tool(
            os.path.join(self.bin, "uv"), "pip", "install", "--no-cache", "--no-deps", "--keyring-provider", "subprocess",
            "--python", self.python, "--target", self.target, "--reinstall", *words, "acme==1.0", **more)

    def install(self, url, **more):
        return self.uv("--index-url", url, **more)

    def test_a_run_fails_when_the_token_ends_and_the_next_one_gets_a_new_token(self):
        """uv asks `keyring` once a run."""
        with self.until_the_token_ends():
            ran = self.install(self.with_user(self.index.url), status=None)
        self.assertIn("401 Unauthorized", ran.stderr)
        [old] = self.index.server.tokens()
        exchanges = self.exchanges()
        self.install(self.with_user(self.index.url))
        self.assertInstalled()
        self.assertEqual(self.index.server.tokens(), [old, self.token()])
        self.assertEqual(self.exchanges(), exchanges + 1)

    def test_it_needs_no_user_in_the_url_of_an_index_that_always_wants_one(self):
        configuration = self.write(
            "uv.toml", f'[[index]]\nname = "acme"\nurl = "{self.index.url}"\ndefault = true\nauthenticate = "always"\n')
        self.uv("--config-file", configuration)
        self.assertInstalled()
        self.assertEqual({request.basic[0] for request in self.index.server.requests if request.token}, {"oauth2"})


class WithTwine(PythonPackages):
    """twine asks the Python library keyring, and that the backend of the Python client."""

    def setUp(self):
        super().setUp()
        self.sent = wheel(self.place, "acme", "1.0")

    def twine(self, *words, to=None, **more):
        return self.tool(
            self.python, "-m", "twine", "upload", "--non-interactive", "--disable-progress-bar", "--repository-url",
            f"{(to or self.index).server.origin}/", *words, PYTHONPATH=lanyard_for_python(), **more)

    def test_twine_uploads_with_the_token_as_password(self):
        self.twine(self.sent)
        self.assertEqual(os.listdir(self.index.folder), ["acme-1.0-py3-none-any.whl"])
        self.assertEqual(self.index.server.tokens(), [self.token()])

    def test_twine_uploads_with_the_account_of_a_variable(self):
        other = Index(self)
        self.twine(self.sent, to=other, LANYARD_KEYRING=f"{other.server.origin}=work")
        self.assertEqual(other.server.tokens(), [self.token()])

    def test_twine_uploads_with_a_key_as_password(self):
        other = Index(self)
        key = self.key(other.server.origin)
        self.rule(other.server.origin, "key")
        self.twine(self.sent, to=other)
        self.assertEqual(other.server.tokens(), [key])

    def test_twine_gets_a_new_token_when_the_old_one_ended(self):
        with self.short_lifetimes():
            self.twine(self.sent)
        [old] = self.index.server.tokens()
        exchanges = self.exchanges()
        self.ended(old)
        self.twine(wheel(self.place, "acme", "1.1"))
        self.assertEqual(len(os.listdir(self.index.folder)), 2)
        self.assertEqual(self.index.server.tokens(), [old, self.token()])
        self.assertEqual(self.exchanges(), exchanges + 1)

    def test_twine_fails_with_a_revoked_token_and_asks_for_no_other(self):
        """keyring has no word for a refused password."""
        revoked = self.token()
        self.revoke(revoked)
        exchanges = self.exchanges()
        ran = self.twine(self.sent, status=None)
        self.assertIn("401", ran.stdout + ran.stderr)
        self.assertEqual(self.index.server.tokens(), [revoked])
        self.assertLess(len(self.index.server.requests), 4)
        self.assertEqual(self.exchanges(), exchanges)
        self.assertEqual(os.listdir(self.index.folder), [])

    def test_twine_gives_another_index_nothing(self):
        """twine asks keyring before it sends a request, and sends none without a password."""
        other = Index(self)
        ran = self.twine(self.sent, to=other, status=None)
        self.assertIn("Credential not found", ran.stdout + ran.stderr)
        self.assertEqual(other.server.requests, [])

    def test_twine_says_lanyard_login_when_signed_out(self):
        self.sign_out()
        ran = self.twine(self.sent, status=None)
        self.assertIn("lanyard login", ran.stdout + ran.stderr)
        self.assertEqual(self.index.server.requests, [])


if __name__ == "__main__":
    unittest.main()
