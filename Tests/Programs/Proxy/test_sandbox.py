"""The tight way: a sandbox without a network and without the agent's socket, whose only way out is the proxy's socket."""

import os
import shutil
import subprocess
import textwrap
import unittest

from proxy_fixture import ProxyFixture, program


def can_unshare(bwrap: str) -> bool:
    """False in a container that may not make user namespaces."""
    return subprocess.run([bwrap, "--ro-bind", "/", "/", "--unshare-all", "true"], capture_output=True).returncode == 0


class Sandbox(ProxyFixture):
    def test_a_program_in_a_sandbox_reaches_the_allowed_origin_and_nothing_else(self) -> None:
        bwrap = program("bwrap", "bubblewrap")
        if not can_unshare(bwrap):
            self.skipTest("NOT TESTED: this machine does not let bwrap make namespaces")
        self.grant("sandbox", agent=True)
        folder = self.directory()
        proxy = self.proxy("--grant", "sandbox", "--socket", folder + "/proxy.sock", account=None)
        script = textwrap.dedent(f"""
            socat TCP-LISTEN:3128,bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:/run/proxy.sock &
            for _ in 1 2 3 4 5 6 7 8 9 10; do (: < /dev/tcp/127.0.0.1/3128) 2>/dev/null && break; sleep 0.1; done
            curl -sS {self.api.origin}/in
            curl -sS -o /dev/null --noproxy '*' {self.api.origin}/past 2>/dev/null && echo past
            curl -sS -X POST -d x {self.api.origin}/write
            env; ls {os.path.dirname(self.agent.socket)} 2>/dev/null && echo agent
            kill %1
            """)
        environment = {
            "PATH": "/usr/bin:/bin", "http_proxy": "http://127.0.0.1:3128", "https_proxy": "http://127.0.0.1:3128",
            "CURL_CA_BUNDLE": "/run/authority.pem"}
        bash = shutil.which("bash") or "/bin/bash"
        links = [word for name in ("bin", "lib", "lib64", "sbin") if os.path.islink("/" + name)
                 for word in ("--symlink", os.readlink("/" + name), "/" + name)]
        words = [
            bwrap, "--ro-bind", "/usr", "/usr", *links, "--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev", "/dev",
            "--tmpfs", "/tmp", "--tmpfs", "/run", "--unshare-all", "--die-with-parent", "--clearenv",
            "--bind", folder + "/proxy.sock", "/run/proxy.sock", "--ro-bind", str(proxy.certificate), "/run/authority.pem"]
        for name, value in environment.items():
            words += ["--setenv", name, value]
        ran = subprocess.run([*words, bash, "-c", script], capture_output=True, text=True, timeout=60)
        told = ran.stdout + ran.stderr
        self.assertTrue(ran.stdout.startswith("hello\n"), told)
        self.assertIn("does not cover this request", told)
        self.assertNotIn("past\n", told)
        self.assertNotIn("agent\n", told)
        self.assertNotIn(self.token("work"), told)
        self.assertEqual([request.path for request in self.api.requests], ["/in"])


if __name__ == "__main__":
    unittest.main()
