"""A machine without a login session: no systemd, no D-Bus, no /run/user, no XDG_RUNTIME_DIR, an empty environment.

So it is in a container, after `su`, in a cron job, and under WSL without systemd. A mount namespace of its own gives the
test an empty /run and /tmp.
"""

import os
import shutil
import subprocess
import tempfile
import unittest

from agent_fixture import BIN, PATIENCE_SECONDS, ROOT, AgentFixture
from anchors import forget_anchors

# As root as it is, otherwise as root of a user namespace.
NAMESPACES = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount", "--pid", "--fork",
              "--kill-child", "--mount-proc"]
SCRIPT = r"""
set -eu
mount --rbind "$1" "$3/bin"; mount --rbind "$2" "$3/clients"
mount -t tmpfs -o mode=1777 tmpfs /tmp; mount -t tmpfs -o mode=755 tmpfs /run
cd "$3/home"
exec env -i HOME="$3/home" PATH="$3/bin:/usr/bin:/bin" LC_ALL=C.UTF-8 PYTHONPATH="$3/clients" sh -eu script
"""
BROWSER = """#!/usr/bin/python3
import sys, urllib.request
urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1]).read()
"""
SERVED = r"""
lanyard-demo provider --auto-approve alice > issuer &
for pause in $(seq 200); do [ -s issuer ] && break; sleep 0.05; done
"""
ADDED = 'lanyard provider add practice --issuer "$(head -1 issuer)" --client-id lanyard-demo --tenant-claim tid'
# That of a session, where none listens.
BUS = "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/bus"
SIGNED_IN = SERVED + ADDED + r"""
lanyard login practice --alias work --browser "$HOME/browser" > /dev/null
"""


def can_unshare():
    return shutil.which("unshare") is not None and subprocess.run(
        [*NAMESPACES, "sh", "-c", "mount -t tmpfs tmpfs /run"], capture_output=True).returncode == 0


@unittest.skipUnless(can_unshare(), "NOT TESTED: this machine lets nobody make a mount namespace")
class WithoutASession(AgentFixture):
    def setUp(self):
        # Not below /tmp, which the namespace replaces.
        self.place = tempfile.mkdtemp(prefix="lanyard-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.addCleanup(forget_anchors, self.place)
        for name in ("bin", "clients", "home"):
            os.mkdir(f"{self.place}/{name}", 0o700)
        with open(f"{self.place}/home/browser", "w", encoding="utf-8") as file:
            file.write(BROWSER)
        os.chmod(f"{self.place}/home/browser", 0o700)

    def run_script(self, script):
        with open(f"{self.place}/home/script", "w", encoding="utf-8") as file:
            file.write(script)
        return subprocess.run(
            [*NAMESPACES, "sh", "-c", SCRIPT, "sh", BIN, f"{ROOT}/Clients/python/src", self.place],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, timeout=3 * PATIENCE_SECONDS)

    def succeeds(self, script):
        done = self.run_script(script)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_command_program_and_a_new_agent_meet_at_one_socket(self):
        told = self.succeeds(SIGNED_IN + r"""
            stat -c '%a %F' /tmp/lanyard-0
            lanyard token work > first
            python3 -c 'import lanyard; print(lanyard.Client().token.get(account="work").access_token)' > second
            cmp first second && echo one token
            kill -KILL $(cat /proc/[0-9]*/status | awk '/^Name:/ {n=$2} /^Pid:/ && n=="lanyard-agent" {print $2}')
            lanyard token work > third
            cmp first third || echo another token
            lanyard-agent & agent=$!
            wait $agent || echo "second agent: $?"
            lanyard doctor || true
            lanyard stop
            """)
        self.assertIn("700 directory", told)
        self.assertIn("one token", told)
        self.assertIn("second agent: 75", told)
        self.assertIn("/tmp/lanyard-0", told)

    def test_agent_that_a_person_starts_is_found(self):
        told = self.succeeds("""
            lanyard-agent 2> log &
            for pause in $(seq 200); do [ -S /tmp/lanyard-0/agent.sock ] && break; sleep 0.05; done
            lanyard status --no-start && lanyard stop
            """)
        self.assertIn("running, version", told)

    def test_python_client_starts_the_agent_that_the_command_finds(self):
        told = self.succeeds(
            "python3 -c 'import lanyard; print(lanyard.Client().agent.status().version)'; lanyard status --no-start; lanyard stop")
        self.assertIn("running, version", told)

    def test_demo_runs(self):
        self.assertNotIn("Traceback", self.succeeds("lanyard demo < /dev/null"))

    def test_missing_library_is_told_by_its_name(self):
        for library, package, commands in (
            ("libcrypto.so.3", "libssl3", [ADDED]), ("libssl.so.3", "libssl3", [ADDED]), ("libcurl.so.4", "libcurl4", [ADDED]),
            ("libsystemd.so.0", "libsystemd0", [f"{BUS} lanyard key add secret-service", f"{BUS} lanyard notify --once"]),
        ):
            with self.subTest(library):
                told = " ".join(self.succeeds(f"{BUS} lanyard status > /dev/null\n" + SERVED + "".join(
                    # An empty file is no library.
                    [f'mount --bind /dev/null "$(readlink -f /usr/lib/*/{library})"\n']
                    + [f"{command} && echo did it || true\n" for command in commands]) + "lanyard stop\n").split())
                self.assertEqual(told.count(f"The library {library} "), len(commands), told)
                self.assertEqual(told.count(f"On Debian, `apt install {package}` brings it."), len(commands), told)
                self.assertNotIn("did it", told)
                for other in ("There is no", "DBUS_SESSION_BUS_ADDRESS", "Check the address"):
                    self.assertNotIn(other, told)

    def test_directory_that_others_could_serve_is_refused_with_what_helps(self):
        for squat in ("mkdir -m 777 /tmp/lanyard-0", "mkdir -m 700 /tmp/elsewhere; ln -s elsewhere /tmp/lanyard-0",
                      "mkdir -m 700 /tmp/lanyard-0; chown 65534 /tmp/lanyard-0", "touch /tmp/lanyard-0"):
            if "chown" in squat and os.geteuid() != 0:
                continue
            with self.subTest(squat):
                told = self.run_script(
                    f"{squat}\nfor words in 'lanyard token work' 'lanyard doctor' lanyard-agent; do $words || echo ended: $?; done\n"
                    "python3 -c 'import lanyard; lanyard.Client().agent.status()' || find /tmp/elsewhere -type f\n").stdout
                words = "XDG_RUNTIME_DIR is not set, and /tmp/lanyard-0 is not a directory that only"
                self.assertGreaterEqual(" ".join(told.split()).count(words), 4, told)
                for status in (3, 1, 64):
                    self.assertIn(f"ended: {status}\n", told)
                self.assertIn("LANYARD_SOCKET", told)
                self.assertNotIn("start.lock", told)

    def test_runtime_directory_that_is_not_there_is_told_with_what_helps(self):
        told = self.run_script("XDG_RUNTIME_DIR=/run/user/1000 lanyard status").stdout
        self.assertIn("/run/user/1000/lanyard for its socket can't be created", told)
        self.assertIn("or unset it: the socket is then /tmp/lanyard-0/agent.sock", " ".join(told.split()))

    def test_without_a_home_the_missing_variable_is_told(self):
        told = self.run_script("unset HOME; lanyard status").stdout
        self.assertIn("HOME is not set", told)


if __name__ == "__main__":
    unittest.main()
