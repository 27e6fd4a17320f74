"""The container image of `make image`: `make test-demo`.

`Image` looks at the archive; `Running` starts what the image says in namespaces of its own, as a container runtime does, with
a root that can't be written and with its volumes, as root. LANYARD_IMAGE is the archive.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import unittest
import urllib.request

from machines import PATIENCE_SECONDS, run, wait

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
IMAGE = os.environ.get("LANYARD_IMAGE") and os.path.abspath(os.environ["LANYARD_IMAGE"])
BUILD = os.path.join(ROOT, ".packaging", "container", "build")
DEMO = os.path.join(ROOT, ".build", "release", "lanyard-demo")
PERSON = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "--no-new-privs"]


class Archive:
    """The parts of an archive of an image."""

    def __init__(self, path):
        self.path = path
        with tarfile.open(path) as archive:
            self.index = json.load(archive.extractfile("index.json"))
        self.manifest = self.blob(self.index["manifests"][0])
        self.configuration = self.blob(self.manifest["config"])
        self.config = self.configuration["config"]

    def blob(self, descriptor):
        with tarfile.open(self.path) as archive:
            return json.load(archive.extractfile("blobs/" + descriptor["digest"].replace(":", "/")))

    def layers(self):
        """Opens each layer, the lowest first."""
        with tarfile.open(self.path) as archive:
            for descriptor in self.manifest["layers"]:
                file = archive.extractfile("blobs/" + descriptor["digest"].replace(":", "/"))
                with tarfile.open(fileobj=file, mode="r:gz") as layer:
                    yield layer


@unittest.skipUnless(IMAGE, "NOT TESTED: LANYARD_IMAGE names no image (`make test-demo`)")
class Image(unittest.TestCase):
    """Its files and what it says of itself."""

    @classmethod
    def setUpClass(cls):
        cls.archive = Archive(IMAGE)
        cls.members = [member for layer in cls.archive.layers() for member in layer.getmembers()]
        cls.files = {member.name: member for member in cls.members}

    def test_agent_is_an_ordinary_user_with_socket_and_state_in_volumes(self):
        config = self.archive.config
        self.assertEqual(config["User"], "1000:1000")
        self.assertEqual(set(config["Volumes"]), {"/home/lanyard", "/run/lanyard"})
        for path in config["Volumes"]:
            member = self.files[path[1:]]
            self.assertEqual((member.uid, member.gid, member.mode), (1000, 1000, 0o700), path)
        self.assertEqual(config["Healthcheck"]["Test"], ["CMD", "/usr/bin/lanyard", "status"])

    def test_nothing_else_can_be_written_and_nothing_is_privileged(self):
        for member in self.members:
            if member.name in ("home/lanyard", "run/lanyard", "tmp") or member.issym():
                continue
            self.assertEqual((member.uid, member.gid, member.mode & 0o7022), (0, 0, 0), member.name)

    def test_programs_are_those_of_make_install_without_the_practice_provider(self):
        with open(os.path.join(ROOT, "Makefile")) as file:
            programs = re.search(r"^PROGRAMS := (.*)$", file.read(), re.MULTILINE)[1].split()
        there = {os.path.basename(name) for name in self.files if name.startswith(("usr/bin/", "usr/libexec/lanyard/"))}
        self.assertLessEqual(set(programs) - {"lanyard-demo"}, there)
        self.assertEqual({name for name in there if "lanyard" not in name}, set())

    def test_every_library_has_a_note_for_scanners_and_a_copyright(self):
        notes = {name.rsplit("/", 1)[1] for name in self.files if name.startswith("var/lib/dpkg/status.d/")}
        # Debian 13 says with "t64" that a library counts time in 64 bits.
        self.assertLessEqual(
            {"libc6", "libcurl4", "libssl3", "libsodium23", "libsqlite3-0", "ca-certificates"},
            {name.removesuffix("t64") for name in notes})
        for name in notes:
            self.assertIn(f"usr/share/doc/{name}/copyright", self.files)

    def test_licenses_that_a_copyright_names_without_its_text_are_there(self):
        layers = {name: layer for layer in self.archive.layers() for name in layer.getnames()}
        texts = {name: content for layer in self.archive.layers() for name, content in copyrights(layer)}
        self.assertIn("UNICODE", "".join(texts.values()).upper())
        named = set(re.findall(r"/(usr/share/common-licenses/[\w.+-]*[\w+])", "".join(texts.values())))
        self.assertLessEqual({"usr/share/common-licenses/Apache-2.0", "usr/share/common-licenses/LGPL-2.1"}, named)
        self.assertLessEqual(named, set(layers))

    def test_second_build_has_the_same_bytes(self):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
            environment = {
                "PATH": os.environ["PATH"], "HOME": place, "TZ": "Pacific/Kiritimati", "LC_ALL": "C",
                "SOURCE_DATE_EPOCH": str(max(member.mtime for member in self.members)),
                "PACK_VERSION": self.archive.manifest["annotations"]["org.opencontainers.image.version"],
                "PACK_LEVEL": os.environ.get("PACK_LEVEL", ""),
            }
            run("sh", "-c", f'umask 077; exec "$0" "{place}/image"', BUILD, env=environment, cwd=place)
            with open(IMAGE, "rb") as one, open(f"{place}/image/{os.path.basename(IMAGE)}", "rb") as other:
                self.assertEqual(one.read() == other.read(), True)

    @unittest.skipUnless(shutil.which("skopeo"), "NOT TESTED: skopeo is not installed")
    def test_skopeo_reads_it_and_finds_the_digests(self):
        told = json.loads(run("skopeo", "inspect", f"oci-archive:{IMAGE}"))
        self.assertEqual(told["Layers"], [layer["digest"] for layer in self.archive.manifest["layers"]])
        # As `docker load` does.
        told = json.loads(run("skopeo", "inspect", "--config", f"docker-archive:{IMAGE}"))
        self.assertEqual(told["config"]["User"], "1000:1000")
        with tempfile.TemporaryDirectory() as place:
            # A copy reads every blob and compares it with its digest.
            for form in ("oci-archive", "docker-archive"):
                run("skopeo", "--insecure-policy", "copy", "--quiet", f"{form}:{IMAGE}", f"dir:{place}/{form}")


def copyrights(layer):
    for member in layer.getmembers():
        if member.name.endswith("/copyright"):
            yield member.name, layer.extractfile(member).read().decode()


class Container:
    """The image with its volumes, in namespaces of its own. The network is this machine's."""

    def __init__(self, archive, place):
        self.archive, self.place = archive, place
        self.root = f"{place}/root"
        self.volumes = {path: f"{place}/volumes{path}" for path in archive.config["Volumes"]}
        self.environment = dict(line.split("=", 1) for line in archive.config["Env"])
        for layer in archive.layers():
            # The Python of Debian 12 has no filters, and trusts fully.
            if hasattr(tarfile, "fully_trusted_filter"):
                layer.extraction_filter = staticmethod(tarfile.fully_trusted_filter)
            layer.extractall(self.root, numeric_owner=True)
        for path, volume in self.volumes.items():
            os.makedirs(os.path.dirname(volume), exist_ok=True)
            run("cp", "-a", self.root + path, volume)
        self.holder = None

    def start(self):
        binds = "".join(f"mount --bind {volume} {self.root}{path} && " for path, volume in self.volumes.items())
        variables = " ".join(f"{name}={value}" for name, value in self.environment.items())
        self.log = open(f"{self.place}/log", "w+")
        for name in ("proc", "dev"):
            os.makedirs(f"{self.root}/{name}", exist_ok=True)
        shutil.copy("/etc/hosts", f"{self.root}/etc/hosts")
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
             f"mount --bind {self.root} {self.root} && mount -o remount,bind,ro {self.root} && {binds}"
             f"mount --rbind /dev {self.root}/dev && mount -t proc proc {self.root}/proc && mount -t tmpfs none {self.root}/tmp && "
             f"exec env -i {variables} {shutil.which('setpriv')} --no-new-privs --bounding-set=-all,+sys_chroot,+setuid,+setgid "
             f"{shutil.which('chroot')} --userspec={self.archive.config['User']} --groups=1000 {self.root} "
             + " ".join(self.archive.config["Entrypoint"])],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)
        wait(lambda: self.does("lanyard", "status", check=False).returncode == 0, "the agent of the container answers")

    @property
    def process(self):
        with open(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children") as file:
            return (file.read().split() or [""])[0]

    def command(self, *words):
        return ["nsenter", "--target", self.process, "--mount", "--pid", "--root", "--wd", "--setgid=1000", "--setuid=1000",
                f"/usr/bin/{words[0]}", *words[1:]]

    def does(self, *words, check=True):
        """As `podman exec`."""
        if self.holder.poll() is not None:
            self.log.seek(0)
            raise AssertionError(f"the container has ended: {self.log.read()}")
        done = subprocess.run(
            self.command(*words), env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=60)
        if check and done.returncode != 0:
            raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}")
        return done

    def stop(self):
        """As `podman stop`; returns the exit status of the first process."""
        if self.holder is None or self.holder.poll() is not None:
            return None
        os.kill(int(self.process), signal.SIGTERM)
        status = self.holder.wait(PATIENCE_SECONDS)
        self.log.close()
        return status


class Running(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not IMAGE:
            raise unittest.SkipTest("NOT TESTED: LANYARD_IMAGE names no image (`make test-demo`)")
        if os.geteuid() != 0:
            raise unittest.SkipTest("NOT TESTED: a container needs root here")
        if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], stderr=subprocess.DEVNULL).returncode != 0:
            raise unittest.SkipTest("NOT TESTED: root may make no namespaces here")
        place = tempfile.mkdtemp(dir="/var/tmp")
        cls.addClassCleanup(run, "rm", "-rf", "--one-file-system", place)
        cls.container = Container(Archive(IMAGE), place)
        cls.addClassCleanup(cls.container.stop)
        cls.container.start()

    def provider(self):
        """A practice provider beside the container; returns its issuer."""
        process = subprocess.Popen(
            [*PERSON, DEMO, "provider"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env={"PATH": "/usr/bin"})
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.terminate)
        return process.stdout.readline().strip()

    def sign_in(self, issuer):
        """By a code on another device: the agent of a container has no browser."""
        self.container.does("lanyard", "provider", "add", "practice", "--issuer", issuer, "--client-id", "lanyard-demo")
        process = subprocess.Popen(
            self.container.command("lanyard", "login", "practice", "--alias", "work", "--device"),
            env=self.container.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = ""
        for line in process.stdout:
            said += line
            if code := re.search(r"user_code=(\S+)", line):
                answer = json.dumps({"user_code": code[1], "user": "alice"}).encode()
                urllib.request.urlopen(urllib.request.Request(
                    f"{issuer}/practice/device", answer, {"Content-Type": "application/json"}), timeout=PATIENCE_SECONDS).read()
        process.stdout.close()
        self.assertEqual(process.wait(), 0, said)

    def token_works(self, issuer):
        token = self.container.does("lanyard", "token", "work").stdout.strip()
        request = urllib.request.Request(f"{issuer}/protected", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            self.assertEqual(answer.status, 200)

    def test_sign_in_by_device_token_restart_token(self):
        issuer = self.provider()
        self.sign_in(issuer)
        self.token_works(issuer)
        self.assertEqual(self.container.stop(), 0)
        self.container.start()
        self.container.does("lanyard", "token", "work", "--force")
        self.token_works(issuer)

    def test_agent_runs_without_privileges_and_its_socket_is_in_the_volume(self):
        with open(f"/proc/{self.container.process}/status") as file:
            status = file.read()
        self.assertRegex(status, r"Uid:\s+1000\s+1000\s+1000\s+1000")
        for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            self.assertRegex(status, rf"{name}:\s+0{{16}}\n")
        socket = os.stat(self.container.volumes["/run/lanyard"] + "/agent.sock")
        self.assertEqual((socket.st_uid, socket.st_mode & 0o777), (1000, 0o600))

    def test_program_beside_it_that_shares_the_socket_is_served(self):
        environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LANYARD_NO_START": "1",
                       "LANYARD_SOCKET": self.container.volumes["/run/lanyard"] + "/agent.sock"}
        os.chmod(self.container.place, 0o755)
        # Copies: another user may not reach the checkout.
        programs = os.path.join(self.container.place, "programs")
        os.mkdir(programs)
        for name in ("lanyard", "lanyard-cli"):
            shutil.copy(os.path.join(ROOT, ".build", "release", name), programs)
        told = run(*PERSON, os.path.join(programs, "lanyard"), "status", env=environment)
        self.assertIn("running, version", told)

    def test_health_is_told_by_status(self):
        self.assertEqual(self.container.does("lanyard", "status").returncode, 0)
        os.kill(int(self.container.process), signal.SIGSTOP)
        try:
            with self.assertRaises(subprocess.TimeoutExpired):
                subprocess.run(self.container.command("lanyard", "status"), env=self.container.environment, timeout=2,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        finally:
            os.kill(int(self.container.process), signal.SIGCONT)

    def test_doctor_finds_certificates_and_libraries(self):
        told = self.container.does("lanyard", "doctor", check=False).stdout
        self.assertNotRegex(told, r"(?m)^problem")
        self.assertIn("All is well", told)


if __name__ == "__main__":
    unittest.main()
