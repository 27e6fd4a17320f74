"""A used secret leaves nothing in the agent's memory, and one in use lies in guarded memory alone."""

import base64
import contextlib
import ctypes
import errno
import hashlib
import json
import os
import platform
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from agent_fixture import AgentFixture, PATIENCE_SECONDS, add_provider, import_account, raw, request, sign_in

PINENTRY = r"""#!/usr/bin/python3 -u
import sys
print("OK")
for line in sys.stdin:
    if line.strip() == "GETPIN":
        print("D " + open(__file__ + ".pin").read())
    print("OK")
"""


def writable_memory(pid):
    """Each writable mapping of a process with its bytes, guarded ones included."""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            place, rights = line.split()[:2]
            if "w" not in rights and "---" not in rights:
                continue
            begin, end = (int(number, 16) for number in place.split("-"))
            for start in range(begin, end, 1 << 20):
                try:
                    memory.seek(start)
                    data = memory.read(min(1 << 20, end - start))
                    if data.count(0) != len(data):
                        yield line.strip(), data
                except (OSError, OverflowError, ValueError):
                    break


def guarded_memory(pid):
    """The beginnings of the mappings that no core dump takes: those of libsodium's allocations."""
    with open(f"/proc/{pid}/smaps") as file:
        place, guarded = "", set()
        for line in file:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                place = line.split()[0]
            elif line.startswith("VmFlags:") and "dd" in line.split():
                guarded.add(place)
        return guarded


class Snapshot:
    """The memory of a process at one moment: a search may take longer than the process holds what it looks for."""

    def __init__(self, pid):
        os.kill(pid, signal.SIGSTOP)
        try:
            self._guarded = guarded_memory(pid)
            self._mappings = list(writable_memory(pid))
        finally:
            os.kill(pid, signal.SIGCONT)

    def places(self, secret):
        """The number of mappings that hold a secret in guarded memory, and the mappings elsewhere."""
        found = [where for where, data in self._mappings if secret in data]
        ordinary = [where for where in found if where.split()[0] not in self._guarded]
        return len(found) - len(ordinary), ordinary

    def form(self, code):
        """The request to the token endpoint that holds this code."""
        for _, data in self._mappings:
            for found in re.finditer(rb"grant_type=authorization_code[!-~]+", data):
                if code in found.group():
                    return found.group()
        raise AssertionError("the request is nowhere in memory")


@unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may read the agent's memory")
class SecretsInUse(AgentFixture):
    """Secrets of a sign-in and a sign-out, searched for while the agent uses them."""

    def settled(self, scene, secret):
        """The memory once the thread that passed the secret on has let go of its bytes; else as it is in the end."""
        for _ in range(50):
            memory = Snapshot(scene.pid)
            if not memory.places(secret)[1]:
                break
            time.sleep(0.02)
        return memory

    def is_guarded(self, memory, name, secret):
        with self.subTest(name):
            self.assertGreater(len(secret), 20)
            guarded, ordinary = memory.places(secret)
            self.assertGreater(guarded, 0, "the search does not find what the request holds")
            self.assertEqual(ordinary, [])

    def key(self):
        """A client's private key."""
        return subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
            capture_output=True, check=True).stdout.decode()

    def test_code_verifier_and_assertion_lie_in_guarded_memory_alone(self):
        """The token endpoint's TLS handshake hangs: the request is made, and not yet sent."""
        for flow in ("browser", "paste"):
            scene, idp = self.scene(), self.provider("--auto-approve", "alice")
            client = self.client(scene)
            endpoint = socket.create_server(("127.0.0.1", 0))
            self.addCleanup(endpoint.close)
            endpoint.settimeout(PATIENCE_SECONDS)
            add_provider(
                client, idp, clientKey=self.key(), tokenEndpointAuthMethod="private_key_jwt",
                endpoints={"token": f"https://127.0.0.1:{endpoint.getsockname()[1]}/token"})
            begun = client.call("signIn.begin", {"provider": "practice", "flow": flow, "openBrowser": False})
            asked = urllib.parse.parse_qs(urllib.parse.urlsplit(begun["authorizationUrl"]).query)
            redirect = self.redirect(begun["authorizationUrl"])
            caller = threading.Thread(target=self.answer, args=(scene, flow, begun["signIn"], redirect))
            caller.start()
            connection, _ = endpoint.accept()
            self.assertTrue(connection.recv(1))

            code = urllib.parse.parse_qs(urllib.parse.urlsplit(redirect).query)["code"][0].encode()
            memory = self.settled(scene, code)
            body = memory.form(code)
            self.is_guarded(memory, f"{flow}: code", code)
            verifier = re.search(rb"code_verifier=([A-Za-z0-9_~.-]+)", body).group(1)
            challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier).digest()).rstrip(b"=").decode()
            self.assertEqual(asked["code_challenge"], [challenge])
            self.is_guarded(memory, f"{flow}: verifier", verifier)
            _, claims, signature = re.search(rb"client_assertion=([A-Za-z0-9_.-]+)", body).group(1).split(b".")
            self.is_guarded(memory, f"{flow}: assertion", claims)
            self.is_guarded(memory, f"{flow}: signature", signature)
            self.assertEqual(memory.places(base64.urlsafe_b64decode(signature + b"=="))[1], [])

            connection.close()
            caller.join(PATIENCE_SECONDS)
            scene.kill()

    def redirect(self, page):
        class Stays(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_):
                return None

        with self.assertRaises(urllib.error.HTTPError) as answered:
            urllib.request.build_opener(urllib.request.ProxyHandler({}), Stays).open(page, timeout=PATIENCE_SECONDS)
        with answered.exception as redirect:
            return redirect.headers["Location"]

    def answer(self, scene, flow, sign_in, redirect):
        """As the browser or the person; the agent answers once the exchange has failed."""
        if flow == "paste":
            raw(scene.socket, request("signIn.complete", {"signIn": sign_in, "redirectUrl": redirect}))
            return
        with contextlib.suppress(urllib.error.HTTPError):
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(redirect, timeout=PATIENCE_SECONDS).close()

    def test_id_token_of_an_end_session_url_is_in_guarded_memory_alone(self):
        scene, idp = self.scene(), self.provider()
        client = self.client(scene)
        add_provider(client, idp)
        for mode in ("soft", "hard"):
            import_account(client, idp, "alice", alias="work")
            url = client.call("account.signOut", {"account": "work", "mode": mode})["endSessionUrl"]
            token = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["id_token_hint"][0].encode()
            # The header is the same in every token.
            for part in token.split(b".")[1:]:
                self.assertEqual(self.settled(scene, part).places(part)[1], [], mode)


@unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may read the agent's memory")
class Memory(AgentFixture):
    def found(self, scene, canary):
        """The mappings that hold the canary, or its first or second half."""
        half = len(canary) // 2
        spellings = (canary, canary[:half], canary[half:])
        return [where for where, data in writable_memory(scene.pid) for spelling in spellings if spelling in data]

    def asked(self, scene, method, **params):
        (answer,) = raw(scene.socket, request(method, params))
        return answer

    def test_memory_search_finds_a_known_text(self):
        scene = self.scene()
        client = self.client(scene)
        add_provider(client, self.provider(), name="not-a-secret-xk93")
        self.assertTrue(self.found(scene, b"not-a-secret-xk93"))

    def test_callers_that_wait_for_a_sign_in_are_bounded_and_cost_memory_by_their_number(self):
        scene = self.scene()
        client = self.client(scene)
        add_provider(client, self.provider())
        sign_in = client.call("signIn.begin", {"provider": "practice", "flow": "browser"})["signIn"]

        def memory():
            with open(f"/proc/{scene.pid}/status") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))

        def waiters(count):
            connection = socket.socket(socket.AF_UNIX)
            self.addCleanup(connection.close)
            connection.connect(scene.socket)
            for identity in range(count):
                connection.sendall(request("signIn.wait", {"signIn": sign_in}, identity))
            return connection

        held = [waiters(128), waiters(128), waiters(8)]
        # Eight more than there is room for, of any connection.
        self.until(lambda: self.refuses_a_waiter(scene, sign_in), "a refusal")
        before = memory()
        for _ in range(6):
            for connection in held:
                connection.close()
            self.until(lambda: not self.refuses_a_waiter(scene, sign_in), "room for a caller")
            held = [waiters(128), waiters(128), waiters(8)]
            self.until(lambda: self.refuses_a_waiter(scene, sign_in), "a refusal")
        # Some 25 kB for a request that waits, in two or three rounds' worth of memory that is used again.
        self.assertLess(memory() - before, 24 << 10)
        client.call("signIn.cancel", {"signIn": sign_in})

    def refuses_a_waiter(self, scene, sign_in):
        (answer,) = raw(scene.socket, request("signIn.wait", {"signIn": sign_in, "timeoutSeconds": 1}))
        return answer.get("error", {}).get("code") == 1003

    def test_used_pin_leaves_nothing_in_memory(self):
        program = os.path.join(self.directory(), "pinentry")
        with open(program, "w") as file:
            file.write(PINENTRY)
        os.chmod(program, stat.S_IRWXU)
        scene = self.scene("--pinentry", program, "--log-level", "trace")
        client = self.client(scene)
        idp = self.provider()
        add_provider(client, idp)
        sign_in(client, "alice", alias="work")

        right, wrong, typed = b"Rq7-canary-right-83651", b"Wz4-canary-wrong-20974", b"Tj9-canary-typed-55182"
        with open(program + ".pin", "wb") as file:
            file.write(typed)
        self.assertIn("result", self.asked(scene, "stepUp.enroll", account="work", pin=right.decode()))
        self.assertIn("result", self.asked(scene, "stepUp.verify", account="work", pin=right.decode()))
        # Also on a connection that stays open, and for requests refused early.
        client.call("stepUp.verify", {"account": "work", "pin": right.decode()})
        self.refused(4003, lambda: client.call("stepUp.verify", {"account": "work", "pin": wrong.decode()}))
        self.assertIn("error", self.asked(scene, "stepUp.verify", account="work", pin=wrong.decode(), extra=1))
        self.assertIn("error", self.asked(scene, "stepUp.verify", account="nobody", pin=wrong.decode()))
        self.assertIn("error", self.asked(scene, "stepUp.verify", account="work", prompt="pinentry"))
        for name, pin in (("right", right), ("wrong", wrong), ("typed", typed)):
            with self.subTest(name):
                self.assertEqual(self.found(scene, pin), [])


@unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may read the agent's registers")
class Registers(AgentFixture):
    """A core file has the registers of each thread, and with them the last bytes that it copied."""

    def remnants(self, pid, secrets):
        """The secrets of which eight bytes in a row are in a register of a thread that waits."""
        pieces = {secret[at:at + 8]: name for name, secret in secrets.items() for at in range(len(secret) - 7)}
        found = set()
        for registers in registers_of(pid):
            found |= {pieces[registers[at:at + 8]] for at in range(len(registers) - 7)
                      if registers[at:at + 8] in pieces}
        return found

    @unittest.skipIf(platform.machine() != "x86_64", "NOT TESTED: the code of the child is for x86-64")
    def test_register_reading_sees_what_a_waiting_thread_has(self):
        child = subprocess.Popen([sys.executable, "-c", WAITS_WITH_A_TEXT_IN_A_REGISTER], stdout=subprocess.PIPE)
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        child.stdout.readline()
        self.until(lambda: self.remnants(child.pid, {"text": b"not-a-secret-8362"}) == {"text"}, "a text in a register")

    def test_waiting_threads_have_no_secret_in_their_registers(self):
        scene = self.scene()
        owner = self.client(scene)
        idp = self.provider()
        add_provider(owner, idp, clientId="confidential", clientSecret="practice-secret")
        issued = idp.post("sign-in", user="alice", client_id="confidential")
        owner.call("signIn.import", {"provider": "practice", "refreshToken": issued["refresh_token"], "alias": "work"})
        secrets = {"client secret": b"practice-secret", "imported": issued["refresh_token"].encode()}
        for turn in range(8):
            grant = owner.call(
                "grant.create", {"client": "test", "accounts": ["work"], "methods": ["token.*", "secret.*"]})
            secrets["grant"] = grant["secret"].encode()
            secrets["value"] = f"kept-value-{os.urandom(12).hex()}".encode()
            with socket.socket(socket.AF_UNIX) as program:
                program.connect(scene.socket)
                lines = program.makefile("rb")
                for method, params in (
                    ("agent.hello", {"client": {"name": "t", "version": "1"}, "grant": grant["secret"]}),
                    ("secret.put", {"account": "work", "name": "n", "value": secrets["value"].decode()}),
                    ("secret.get", {"account": "work", "name": "n"}),
                    ("token.refresh", {"account": "work"}),
                    ("token.get", {"account": "work"}),
                ):
                    program.sendall(request(method, params))
                    answer = json.loads(lines.readline())
                    self.assertIn("result", answer)
                secrets["access token"] = answer["result"]["accessToken"].encode()
                if turn % 2:
                    owner.call("agent.lock", {})
                # What works in the background ends first.
                time.sleep(0.05)
                self.assertEqual(self.remnants(scene.pid, secrets), set(), f"turn {turn}")
                if turn % 2:
                    owner.call("agent.unlock", {})


PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, PTRACE_GETREGSET = 0x4206, 0x4207, 17, 0x4204
NT_PRSTATUS, NT_PRFPREG, NT_X86_XSTATE = 1, 2, 0x202

WAITS_WITH_A_TEXT_IN_A_REGISTER = """
import ctypes, mmap
# movdqu xmm7, [rdi]; mov eax, 34 (pause); syscall; ret
code = bytes.fromhex("f30f6f3f") + bytes.fromhex("b822000000") + bytes.fromhex("0f05") + b"\\xc3"
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
place = ctypes.addressof(ctypes.c_char.from_buffer(page))
print("waits", flush=True)
ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(place)(b"not-a-secret-8362")
"""


def registers_of(pid):
    """The register sets of each thread, as a core file has them."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    for thread in (int(name) for name in os.listdir(f"/proc/{pid}/task")):
        if libc.ptrace(PTRACE_SEIZE, thread, None, None) != 0:
            if ctypes.get_errno() == errno.ESRCH:
                continue
            raise OSError(ctypes.get_errno(), "PTRACE_SEIZE")
        try:
            libc.ptrace(PTRACE_INTERRUPT, thread, None, None)
            os.waitpid(thread, 0x40000000)  # __WALL
            for kind in (NT_PRSTATUS, NT_PRFPREG, NT_X86_XSTATE):
                data = ctypes.create_string_buffer(32768)
                vector = (ctypes.c_size_t * 2)(ctypes.addressof(data), len(data))
                if libc.ptrace(PTRACE_GETREGSET, thread, kind, ctypes.addressof(vector)) == 0:
                    yield data.raw[:vector[1]]
        finally:
            libc.ptrace(PTRACE_DETACH, thread, None, None)


if __name__ == "__main__":
    unittest.main()
