"""skopeo and podman with a registry that wants a token, by `docker-credential-lanyard`."""

import gzip
import hashlib
import io
import json
import os
import secrets
import tarfile
import unittest

from desktop_fixture import Desktop, Response, accepts, forward, program
from forms import in_quick_form

MANIFEST = "application/vnd.oci.image.manifest.v1+json"


class Registry:
    """Debian's docker-registry without authentication, behind a TLS server that wants a token.

    A token is the password (Basic), or it is exchanged at a token service for one of the registry's own, as at a hosted
    registry (distribution, token authentication).
    """

    def __init__(self, test, has_token_service=False):
        self._test = test
        self._own = set()
        self._has_token_service = has_token_service
        self._socket = os.path.join(test.place, f"registry-{secrets.token_hex(4)}.sock")
        storage = os.path.join(test.place, f"storage-{secrets.token_hex(4)}")
        configuration = test.write(f"{storage}.json", {
            "version": 0.1, "log": {"level": "error"}, "storage": {"filesystem": {"rootdirectory": storage}},
            "http": {"net": "unix", "addr": self._socket, "relativeurls": True}})
        test.background(program("docker-registry", "docker-registry"), "serve", configuration)
        test.until(lambda: accepts(self._socket), "the registry")
        self.server = test.server(self._answer)
        self.place = self.server.place
        self.elsewhere = None
        """The origin to which a client is redirected for blobs."""

    def _answer(self, request):
        if request.path.startswith("/token"):
            if not self._test.is_good(request.token):
                return self._refused("Basic realm=\"registry\"")
            own = secrets.token_urlsafe(16)
            self._own.add(own)
            return Response.json({"token": own, "expires_in": 60})
        if self._has_token_service:
            if request.bearer not in self._own:
                return self._refused(f'Bearer realm="{self.server.origin}/token",service="registry"')
        elif not (request.basic and self._test.is_good(request.token)):
            return self._refused("Basic realm=\"registry\"")
        if self.elsewhere and request.method == "GET" and "/blobs/" in request.path:
            return Response(307, headers=[("Location", self.elsewhere + request.path)])
        return forward(request, self._socket, Authorization=None, X_Forwarded_Proto="https")

    @staticmethod
    def _refused(challenge):
        body = {"errors": [{"code": "UNAUTHORIZED", "message": "authentication required", "detail": None}]}
        return Response(401, json.dumps(body).encode(), [
            ("Content-Type", "application/json"), ("WWW-Authenticate", challenge),
            ("Docker-Distribution-Api-Version", "registry/2.0")])


@in_quick_form(
    "test_skopeo_copies_to_and_from_a_registry_with_a_token_service", "test_skopeo_gives_another_registry_nothing",
    "test_skopeo_says_lanyard_login_when_signed_out", "test_podman_pushes_and_pulls_with_a_token")
class Registries(Desktop):
    def setUp(self):
        super().setUp()
        self.skopeo_program, self.podman_program = program("skopeo", "skopeo"), program("podman", "podman")
        self.link("docker-credential-lanyard")
        self.write(".config/containers/policy.json", {"default": [{"type": "insecureAcceptAnything"}]})
        self.write(".config/containers/registries.conf", "")
        self.layout = self.image()

    def image(self):
        """An image of one small file, as an OCI layout; its path."""
        folder = os.path.join(self.place, "image")
        os.makedirs(os.path.join(folder, "blobs", "sha256"))

        def blob(content, kind):
            digest = hashlib.sha256(content).hexdigest()
            with open(os.path.join(folder, "blobs", "sha256", digest), "wb") as file:
                file.write(content)
            return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}

        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            entry = tarfile.TarInfo("hello")
            entry.size = 5
            tar.addfile(entry, io.BytesIO(b"hello"))
        layer = packed.getvalue()
        configuration = {
            "architecture": "amd64", "os": "linux", "config": {},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]}}
        manifest = {
            "schemaVersion": 2, "mediaType": MANIFEST,
            "config": blob(json.dumps(configuration).encode(), "application/vnd.oci.image.config.v1+json"),
            "layers": [blob(gzip.compress(layer, mtime=0), "application/vnd.oci.image.layer.v1.tar+gzip")]}
        index = {"schemaVersion": 2, "manifests": [
            {**blob(json.dumps(manifest).encode(), MANIFEST), "annotations": {"org.opencontainers.image.ref.name": "1"}}]}
        self.write("image/index.json", index)
        self.write("image/oci-layout", {"imageLayoutVersion": "1.0.0"})
        self.digest = index["manifests"][0]["digest"]
        return f"oci:{folder}:1"

    def helps(self, *places):
        """Has the tools ask Lanyard for these registries."""
        self.auth = self.write("auth.json", {"credHelpers": {place: "lanyard" for place in places}})

    def skopeo(self, *words, **more):
        return self.tool(self.skopeo_program, *words, REGISTRY_AUTH_FILE=self.auth, **more)

    def podman(self, *words, **more):
        # Nothing is shared with the podman of this machine.
        configuration = self.write("containers.conf", '[engine]\nlock_type = "file"\nevents_logger = "none"\n')
        storage = ["--root", os.path.join(self.place, "podman"), "--runroot", os.path.join(self.place, "podman-run"),
                   "--tmpdir", os.path.join(self.place, "podman-tmp"), "--storage-driver", "vfs"]
        return self.tool(
            self.podman_program, *storage, *words, REGISTRY_AUTH_FILE=self.auth, CONTAINERS_CONF=configuration, **more)

    def push(self, registry, **more):
        return self.skopeo("copy", self.layout, f"docker://{registry.place}/acme/app:1", **more)

    def inspect(self, registry, **more):
        return self.skopeo("inspect", "--raw", f"docker://{registry.place}/acme/app:1", **more)

    def registry(self, **more):
        """A registry that has the image, and for which a rule names Alice."""
        registry = Registry(self, **more)
        self.rule(f"https://{registry.place}")
        self.helps(registry.place)
        self.push(registry)
        registry.server.requests.clear()
        return registry

    # skopeo

    def test_skopeo_copies_to_and_from_a_registry_that_takes_the_token_as_password(self):
        registry = self.registry()
        copy = os.path.join(self.place, "copy")
        self.skopeo("copy", f"docker://{registry.place}/acme/app:1", f"oci:{copy}:1")
        with open(os.path.join(copy, "index.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["manifests"][0]["digest"], self.digest)
        self.assertEqual(registry.server.tokens(), [self.token()])
        self.assertEqual({request.basic[0] for request in registry.server.requests if request.basic}, {"oauth2"})

    def test_skopeo_copies_with_a_key_as_password(self):
        registry = Registry(self)
        key = self.key(registry.server.origin, username="robot")
        self.rule(registry.server.origin, "key")
        self.helps(registry.place)
        self.push(registry)
        manifest = self.inspect(registry).stdout.encode()
        self.assertEqual("sha256:" + hashlib.sha256(manifest).hexdigest(), self.digest)
        self.assertEqual(registry.server.tokens(), [key])
        self.assertEqual({request.basic[0] for request in registry.server.requests if request.basic}, {"robot"})

    def test_skopeo_copies_to_and_from_a_registry_with_a_token_service(self):
        registry = self.registry(has_token_service=True)
        self.skopeo("copy", f"docker://{registry.place}/acme/app:1", f"oci:{os.path.join(self.place, 'copy')}:1")
        # The access token goes to the token service alone.
        to_service = {request.token for request in registry.server.requests if request.path.startswith("/token")}
        to_others = {request.token for request in registry.server.requests if not request.path.startswith("/token")}
        self.assertEqual(to_service, {self.token()})
        self.assertNotIn(self.token(), to_others)
        self.assertGreater(len(to_others - {None}), 0)

    def test_skopeo_gets_a_new_token_when_the_old_one_ended(self):
        registry = self.registry()
        with self.short_lifetimes():
            manifest = self.inspect(registry).stdout
        self.assertEqual(f"sha256:{hashlib.sha256(manifest.encode()).hexdigest()}", self.digest)
        [old] = registry.server.tokens()
        exchanges = self.exchanges()
        self.ended(old)
        self.inspect(registry)
        self.assertEqual(registry.server.tokens(), [old, self.token()])
        self.assertNotEqual(old, self.token())
        self.assertEqual(self.exchanges(), exchanges + 1)

    def test_skopeo_fails_once_with_a_revoked_token(self):
        """The protocol has no word for a refused token, so the run fails with the tool's own error, and no token is asked for
        again. `lanyard token --force` makes the next run work."""
        registry = self.registry()
        revoked = self.token()
        self.revoke(revoked)
        exchanges = self.exchanges()
        ran = self.inspect(registry, status=None)
        self.assertIn("unauthorized", ran.stderr)
        self.assertEqual(registry.server.tokens(), [revoked])
        self.assertLess(len(registry.server.requests), 6)
        self.assertEqual(self.exchanges(), exchanges)
        self.lanyard("token", "work", "--force")
        self.inspect(registry)
        self.assertEqual(self.exchanges(), exchanges + 1)

    def test_skopeo_gives_another_registry_nothing(self):
        wanted = self.registry()
        for other in (Registry(self), Registry(self, has_token_service=True)):
            self.helps(wanted.place, other.place)
            ran = self.inspect(other, status=None)
            self.assertIn("unauthorized", ran.stderr)
            self.assertNothingCame(other.server)
        # The same server under another name is another host.
        wanted.place = wanted.place.replace("localhost", "127.0.0.1")
        self.helps(wanted.place)
        self.inspect(wanted, status=None)
        self.assertNothingCame(wanted.server)

    def test_skopeo_takes_no_token_along_to_where_a_blob_lies(self):
        registry = self.registry()
        blobs = self.server(lambda request: forward(request, registry._socket), host="127.0.0.1")
        registry.elsewhere = blobs.origin
        self.skopeo("copy", f"docker://{registry.place}/acme/app:1", f"oci:{os.path.join(self.place, 'copy')}:1")
        self.assertNothingCame(blobs)

    def test_skopeo_says_lanyard_login_when_signed_out(self):
        registry = self.registry()
        self.sign_out()
        ran = self.inspect(registry, status=None)
        self.assertIn("lanyard login", ran.stderr)
        self.assertEqual(registry.server.tokens(), [])

    # podman

    def test_podman_pushes_and_pulls_with_a_token(self):
        for has_token_service in (False, True):
            with self.subTest(has_token_service=has_token_service):
                registry = self.registry(has_token_service=has_token_service)
                image = f"{registry.place}/acme/app:1"
                self.assertEqual(self.podman("login", "--get-login", registry.place).stdout, "oauth2\n")
                self.podman("pull", "--quiet", image)
                self.podman("push", "--quiet", image, f"{registry.place}/acme/copy:1")
                self.skopeo("inspect", "--raw", f"docker://{registry.place}/acme/copy:1")
                self.podman("rmi", image)
                self.assertIn(self.token(), registry.server.tokens())

    def test_podman_gets_a_new_token_when_the_old_one_ended(self):
        registry = self.registry(has_token_service=True)

        def given():
            return list(dict.fromkeys(request.token for request in registry.server.requests if request.path.startswith("/token")))

        with self.short_lifetimes():
            self.podman("pull", "--quiet", f"{registry.place}/acme/app:1")
        [old] = given()
        exchanges = self.exchanges()
        self.ended(old)
        self.podman("push", "--quiet", f"{registry.place}/acme/app:1")
        self.assertEqual(given(), [old, self.token()])
        self.assertEqual(self.exchanges(), exchanges + 1)

    def test_podman_fails_with_a_revoked_token_and_asks_for_no_other(self):
        """As with skopeo: the protocol has no word for a refused token."""
        registry = self.registry()
        revoked = self.token()
        self.revoke(revoked)
        exchanges = self.exchanges()
        ran = self.podman("pull", "--quiet", f"{registry.place}/acme/app:1", status=None)
        self.assertIn("unauthorized", ran.stderr)
        self.assertEqual(registry.server.tokens(), [revoked])
        self.assertEqual(self.exchanges(), exchanges)

    def test_podman_gives_another_registry_nothing(self):
        wanted, other = self.registry(), Registry(self)
        self.helps(wanted.place, other.place)
        ran = self.podman("pull", "--quiet", f"{other.place}/acme/app:1", status=None)
        self.assertIn("unauthorized", ran.stderr)
        self.assertNothingCame(other.server)
        self.assertIn("not logged in", self.podman("login", "--get-login", other.place, status=None).stderr)

    def test_podman_says_lanyard_login_when_signed_out(self):
        registry = self.registry()
        self.sign_out()
        ran = self.podman("pull", "--quiet", f"{registry.place}/acme/app:1", status=None)
        self.assertIn("lanyard login", ran.stderr)
        self.assertEqual(registry.server.tokens(), [])

    def test_podman_stores_no_password(self):
        registry = self.registry()
        ran = self.podman(
            "login", "--username", "oauth2", "--password-stdin", registry.place, status=None, input=self.token() + "\n")
        self.assertIn("Nothing was stored", ran.stderr)
        with open(self.auth, encoding="utf-8") as file:
            self.assertEqual(json.load(file), {"credHelpers": {registry.place: "lanyard"}})
        self.inspect(registry)


if __name__ == "__main__":
    unittest.main()
