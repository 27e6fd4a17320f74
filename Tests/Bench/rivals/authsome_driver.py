"""Runs authsome as one of its programs would, told by lines of JSON on standard input. It runs by the Python that has
authsome, perhaps in another root file system, and so imports nothing of this project.

Each line names what to do: `start`, `restart`, `kill`, `token`, `sign_out`; the answer is a line of JSON, too.
"""

import asyncio
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.parse

PASSWORD = "a-long-practice-password"
WAIT_SECONDS = 30


class Driver:
    def __init__(self, home: str, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.port = port
        os.environ.update(
            AUTHSOME_HOME=home, AUTHSOME_BASE_URL=self.url, AUTHSOME_PORT=str(port), AUTHSOME_DO_NOT_TRACK="1", HOME=home)
        pathlib.Path(home).mkdir(parents=True, exist_ok=True)
        self.process: "subprocess.Popen[bytes] | None" = None

    async def run_daemon(self) -> float:
        """Starts the daemon, and returns the seconds until it answers."""
        import httpx

        began = time.monotonic()
        with open(os.path.join(os.environ["AUTHSOME_HOME"], "daemon.log"), "ab") as log:
            self.process = subprocess.Popen(
                [os.path.join(os.path.dirname(sys.executable), "authsome"), "daemon", "serve", "--port", str(self.port)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while True:
            try:
                async with httpx.AsyncClient() as client:
                    if (await client.get(f"{self.url}/api/health")).status_code == 200:
                        return time.monotonic() - began
            except httpx.TransportError:
                pass
            if time.monotonic() - began > WAIT_SECONDS:
                raise RuntimeError("authsome's daemon does not answer")
            await asyncio.sleep(0.005)

    def client(self):
        from authsome.cli.client import AuthsomeApiClient

        return AuthsomeApiClient(self.url, home=pathlib.Path(os.environ["AUTHSOME_HOME"]))

    async def start(self, issuer: str, client_id: str, client_secret: str, endpoints: dict) -> dict:
        import httpx
        from authsome.cli.identity import RuntimeIdentity

        seconds = await self.run_daemon()
        identity = RuntimeIdentity.ensure_local(pathlib.Path(os.environ["AUTHSOME_HOME"]))
        api = self.client()
        async with httpx.AsyncClient(follow_redirects=False, timeout=WAIT_SECONDS) as browser:
            await browser.post(
                f"{self.url}/api/auth/register", data={"email": "alice@acme.example", "password": PASSWORD})
            told = await api.register_identity(identity.handle, identity.did)
            token = urllib.parse.parse_qs(urllib.parse.urlsplit(told["claim_url"]).query)["token"][0]
            await browser.post(f"{self.url}/api/claim/{token}/confirm")
            await api.register_provider({
                "name": "practice", "display_name": "Practice", "auth_type": "oauth2", "flow": "pkce", "api_url": issuer,
                "oauth": {**endpoints, "scopes": ["openid", "offline_access"], "pkce": True}}, force=True)
            session = await api.start_login(provider="practice", connection="default", force=True)
            page = session["next_action"]["url"]
            if "/authorize" not in page:
                answer = await browser.post(
                    f"{self.url}/api/auth/sessions/{session['id']}/input",
                    data={"client_id": client_id, "client_secret": client_secret, "scopes": "openid,offline_access"})
                page = answer.headers["location"]
            page += "&login_hint=alice"
            for _ in range(10):
                answer = await browser.get(page)
                if answer.status_code not in (302, 303, 307):
                    break
                page = urllib.parse.urljoin(page, answer.headers["location"])
        ended = await api.get_session(session["id"])
        return {"status": ended["status"], "error": ended.get("error"), "seconds": seconds, "pid": self.process.pid}

    async def token(self, callers: int, repeats: int = 1) -> dict:
        """Asks for a token from so many callers at once, so often one after the other."""

        async def one() -> list:
            api, found = self.client(), []
            try:
                await api.ensure_identity_ready()
            except Exception as error:
                return [[False, f"{type(error).__name__}: {error}"[:200], 0.0]]
            finally:
                ready.release()
            await begin.wait()
            for _ in range(repeats):
                began = time.perf_counter()
                try:
                    headers = (await api.resolve_credentials(provider="practice"))["headers"]
                    told = next(iter(headers.values())).split()[-1]
                    found.append([True, told, time.perf_counter() - began])
                except Exception as error:
                    found.append([False, f"{type(error).__name__}: {error}"[:200], time.perf_counter() - began])
            return found

        ready, begin = asyncio.Semaphore(0), asyncio.Event()
        tasks = [asyncio.create_task(one()) for _ in range(callers)]
        for _ in tasks:
            await ready.acquire()
        begin.set()
        return {"answers": [answer for found in await asyncio.gather(*tasks) for answer in found]}

    async def sign_out(self) -> dict:
        try:
            await self.client().logout("practice")
            return {"ok": True}
        except Exception as error:
            return {"ok": False, "told": f"{type(error).__name__}: {error}"[:200]}

    def kill(self) -> dict:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        return {}


async def main() -> None:
    driver = Driver(sys.argv[1], int(sys.argv[2]))
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        what = order.pop("do")
        if what == "start":
            answer = await driver.start(**order)
        elif what == "token":
            answer = await driver.token(**order)
        elif what == "sign_out":
            answer = await driver.sign_out()
        elif what == "kill":
            answer = driver.kill()
        elif what == "kill_in":
            # A caller asks, and the daemon dies so many seconds later.
            task = asyncio.create_task(driver.token(1))
            await asyncio.sleep(order["seconds"])
            answer = driver.kill()
            await task
        elif what == "restart":
            seconds = await driver.run_daemon()
            answer = {"seconds": seconds, "pid": driver.process.pid}
        print(json.dumps(answer), flush=True)
    if driver.process and driver.process.poll() is None:
        driver.kill()


asyncio.run(main())
