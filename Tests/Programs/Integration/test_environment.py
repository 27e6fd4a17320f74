"""The agent's environment and libraries: variables that libraries obey are gone before the first library runs."""

import contextlib
import glob
import os
import re
import shutil
import socket
import subprocess
import unittest
from unittest import mock

from agent_fixture import AGENT, PATIENCE_SECONDS, ROOT, STATUS, AgentFixture, LanyardError, Scene, raw
from test_configuration import Issuer

IS_ROOT = os.geteuid() == 0
ONLY_ROOT = "NOT TESTED: only root may read the agent's files in /proc"

OBEYED = {
    # glibc and the dynamic linker
    "GCONV_PATH": "/planted", "GETCONF_DIR": "/planted", "GLIBC_TUNABLES": "glibc.malloc.perturb=85",
    "HOSTALIASES": "/planted", "LD_AUDIT": "/planted", "LD_BIND_NOT": "1", "LD_DEBUG": "libs",
    "LD_DEBUG_OUTPUT": "/planted", "LD_LIBRARY_PATH": "/planted", "LD_PROFILE": "libc.so.6", "LOCALDOMAIN": "planted.example",
    "LOCPATH": "/planted", "MALLOC_ARENA_MAX": "1", "MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "85", "MALLOC_TRACE": "/planted",
    "NLSPATH": "/planted", "RESOLV_HOST_CONF": "/planted", "RES_OPTIONS": "timeout:30", "TMPDIR": "/planted",
    "TZ": ":/planted", "TZDIR": "/planted",
    # OpenSSL and libcurl
    "CURL_HOME": "/planted", "CURL_SSL_BACKEND": "planted", "NETRC": "/planted", "OPENSSL_CONF": "/planted",
    "OPENSSL_ENGINES": "/planted", "OPENSSL_MODULES": "/planted", "OPENSSL_TRACE": "TLS", "SSLKEYLOGFILE": "/planted",
    # SQLite, the Swift runtime, sd-bus, and what a shell or an interpreter would read
    "SQLITE_TMPDIR": "/planted", "SWIFT_BACKTRACE": "enable=yes,color=no", "SWIFT_DEBUG_HELP": "YES",
    "SWIFT_DETERMINISTIC_HASHING": "1", "SYSTEMD_LOG_LEVEL": "debug", "BASH_ENV": "/planted", "PYTHONPATH": "/planted",
    "AWS_SECRET_ACCESS_KEY": "planted", "planted": "planted",
}
KEPT = {
    "DISPLAY": ":77", "GPG_TTY": "/dev/pts/77", "LANG": "C.UTF-8", "LC_ALL": "C", "TERM": "vt100", "WAYLAND_DISPLAY": "w77",
    "XDG_CURRENT_DESKTOP": "desk", "https_proxy": "http://proxy.example:1", "no_proxy": "localhost",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent/bus",
}

PLANTED_LIBRARY = r"""
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) { close(open(WITNESS, O_WRONLY | O_CREAT, 0600)); }
"""


class Environment(AgentFixture):
    def variables(self, pid):
        with open(f"/proc/{pid}/environ", "rb") as file:
            return dict(entry.split("=", 1) for entry in file.read().decode().split("\0") if entry)

    def library(self, name, witness):
        """A library that makes the file `witness` when it is loaded."""
        directory = self.directory()
        path = os.path.join(directory, name)
        subprocess.run(
            ["cc", "-shared", "-fPIC", f'-DWITNESS="{witness}"', "-x", "c", "-o", path, "-"],
            input=PLANTED_LIBRARY.encode(), check=True)
        return path

    def exchange(self, scene):
        """An exchange over TLS, so that libcurl and OpenSSL are loaded."""
        issuer = Issuer(self.directory())
        self.addCleanup(issuer.stop)
        provider = {"name": "tls", "issuer": issuer.url, "clientId": "c", "caFile": issuer.certificate}
        self.assertIn("provider", self.client(scene).call("provider.add", provider))

    @unittest.skipUnless(IS_ROOT, ONLY_ROOT)
    def test_variables_that_libraries_obey_are_removed(self):
        scene = self.scene(start=False)
        with mock.patch.dict(os.environ, {**OBEYED, **KEPT}):
            scene.start()
            own = scene.environment
        found = self.variables(scene.pid)
        self.assertEqual(set(OBEYED) & set(found), set())
        self.assertEqual({name: found.get(name) for name in KEPT}, KEPT)
        for name in ("HOME", "LANYARD_SOCKET", "LANYARD_STATE_DIR", "PATH", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"):
            self.assertEqual(found[name], own[name])

    @unittest.skipUnless(IS_ROOT, ONLY_ROOT)
    def test_only_listed_variables_remain(self):
        """The list stands in one place; this reads it there, and compares it with the running agent."""
        with open(os.path.join(ROOT, "Sources", "Foreign", "CStart", "Start.c")) as file:
            text = file.read()
        listed = {
            name for table in re.findall(r"static const char \*const kept\w*\[\] = \{(.*?)\};", text, re.S)
            for name in re.findall(r'"(\w+)"', table)}
        self.assertLess(set(KEPT) - {"XDG_CURRENT_DESKTOP"}, listed)
        everything = {f"{name}{end}": "planted" for name in listed for end in ("_", "X") if not name.endswith("_")}
        scene = self.scene(start=False)
        with mock.patch.dict(os.environ, {**everything, "_LANYARD": "planted"}):
            scene.start()
        strangers = {
            name for name in self.variables(scene.pid) if name not in listed and not name.startswith(("LANYARD_", "XDG_"))}
        self.assertEqual(strangers, set())

    def test_key_log_file_of_tls_is_not_written(self):
        log = os.path.join(self.directory(), "keys")
        scene = self.scene(start=False)
        with mock.patch.dict(os.environ, SSLKEYLOGFILE=log):
            scene.start()
        self.exchange(scene)
        self.assertFalse(os.path.exists(log))

    def test_preloaded_library_does_not_run(self):
        for variable in ("LD_PRELOAD", "LD_AUDIT"):
            with self.subTest(variable):
                witness = os.path.join(self.directory(), "loaded")
                scene = self.scene(start=False)
                path = self.library("planted.so", witness)
                if variable == "LD_PRELOAD":
                    # A program without the protection runs it; otherwise this test would prove nothing.
                    subprocess.run(["/bin/true"], env={variable: path}, check=True)
                    os.remove(witness)
                with mock.patch.dict(os.environ, {variable: path}):
                    scene.start()
                self.exchange(scene)
                with open(f"/proc/{scene.pid}/maps") if IS_ROOT else contextlib.nullcontext([]) as maps:
                    self.assertFalse([line for line in maps if "planted" in line])
                if variable == "LD_PRELOAD":
                    self.assertFalse(os.path.exists(witness))

    def test_library_in_another_directory_is_not_opened(self):
        """Neither by a variable, nor beside the program, where a debug build's RUNPATH leads."""
        for place in ("LD_LIBRARY_PATH", "beside the program"):
            with self.subTest(place):
                witness = os.path.join(self.directory(), "loaded")
                scene = self.scene(start=False)
                path = self.library("libcurl.so.4", witness)
                for name in ("libcrypto.so.3", "libssl.so.3", "libsystemd.so.0"):
                    shutil.copy(path, os.path.join(os.path.dirname(path), name))
                variables = {}
                if place == "LD_LIBRARY_PATH":
                    variables[place] = os.path.dirname(path)
                else:
                    scene.program = os.path.join(os.path.dirname(path), "lanyard-agent")
                    shutil.copy(AGENT, scene.program)
                with mock.patch.dict(os.environ, variables):
                    scene.start()
                self.exchange(scene)
                self.assertFalse(os.path.exists(witness))

    def test_agent_with_a_removed_program_file_starts_from_a_dirty_environment(self):
        """It starts itself again by the open file: the path may name another program meanwhile."""
        scene = self.scene(start=False)
        directory = self.directory()
        program = os.path.join(directory, "lanyard-agent")
        shutil.copy(AGENT, program)
        script = 'exec 9< "$0" && rm "$0" && shift && exec /proc/self/fd/9 "$@"'
        scene.process = subprocess.Popen(
            ["/bin/sh", "-c", script, *([program] + [""] + scene.command[1:])], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**scene.environment, "SSLKEYLOGFILE": "/planted"})
        self.client(scene).connect(wait_seconds=PATIENCE_SECONDS)
        self.assertIn("result", raw(scene.socket, STATUS)[0])

    def test_clean_start_keeps_process_id_socket_and_name(self):
        scene = self.scene(start=False)
        path = os.path.join(scene.directory, "run", "activated.sock")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            scene.process = subprocess.Popen(
                ["/bin/sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"', *scene.command],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={**scene.environment, **OBEYED}, pass_fds=(3,),
                preexec_fn=lambda: os.dup2(listener.fileno(), 3, inheritable=True))
            self.assertIn("result", raw(path, STATUS)[0])
        with open(f"/proc/{scene.pid}/comm") as file:
            self.assertEqual(file.read().strip(), "lanyard-agent")


class Hidden(Scene):
    """An agent to which a library of the system looks damaged, once `library` names it."""

    library = ""

    @property
    def command(self):
        command = super().command
        if not self.library:
            return command
        found = {os.path.realpath(path) for path in glob.glob(f"/usr/lib/*/{self.library}*")}
        script = "".join(f"mount --bind /dev/null {path} && " for path in sorted(found)) + 'exec "$0" "$@"'
        return ["unshare", "--mount", "sh", "-c", script, *command]


@unittest.skipUnless(IS_ROOT, "NOT TESTED: only root may hide a library from one program")
class MissingLibraryTests(AgentFixture):
    def test_a_key_that_no_library_reads_is_not_said_to_be_bad(self):
        scene = Hidden()
        self.addCleanup(scene.__exit__)
        scene.start()
        place = self.directory()
        key = os.path.join(place, "key.pem")
        subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key], check=True,
            capture_output=True)
        with open(key) as file:
            added = {"name": "robot", "kind": "client", "clientId": "robot", "clientKey": file.read(),
                     "endpoints": {"token": "http://127.0.0.1:1/token"}, "machine": {"grant": "jwtBearer"}}
        self.client(scene).call("provider.add", added)
        scene.end()
        scene.library = "libcrypto.so.3"
        scene.start()
        for method, params in (("account.add", {"provider": "robot"}), ("provider.add", {**added, "name": "other"})):
            with self.subTest(method=method):
                with self.assertRaises(LanyardError) as caught:
                    self.client(scene).call(method, params)
                error = caught.exception
                self.assertEqual((error.code, error.data.get("reason")), (3001, "noLibrary"), error)
                self.assertIn("libcrypto.so.3", str(error))


if __name__ == "__main__":
    unittest.main()
