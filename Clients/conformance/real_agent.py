"""Each client with the real agent and the practice provider."""

import contextlib
import os
import signal
import sys

import judge
from cases.http import Resource
from failures import CaseFailed, same
from trial import Case, Trial

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CASES = []


def with_agent(name, *needs):
    def marked(body):
        CASES.append(Case(f"real agent: {name}", needs, body))
        return body

    return marked


def harness():
    for path in ("Clients/python/src", "Tests/Bench"):
        if os.path.join(REPOSITORY, path) not in sys.path:
            sys.path.insert(0, os.path.join(REPOSITORY, path))
    import harness

    return harness


@contextlib.contextmanager
def running(programs):
    """An agent with alice and bob signed in, and the program of its command line for clients that use it."""
    used = harness()
    with used.Practice(os.path.join(programs, "lanyard-demo")) as practice:
        with used.Agent(os.path.join(programs, "lanyard-agent")) as agent:
            with agent.client() as client:
                provider = used.add_provider(client, practice.issuer)
                for person in ("alice", "bob"):
                    used.sign_in(client, provider, person, person)
            yield agent


def judged(languages, programs, results, say):
    programs = os.path.abspath(programs)
    for result in results:
        taking_part = [case for case in CASES if case.needs <= result.language.does]
        passed = 0
        with running(programs) as agent:
            for case in taking_part:
                failure = judge.run_case(_With(result.language, agent, programs), case)
                if failure is None:
                    passed += 1
                else:
                    result.failures[case.name] = failure
                    say(f"{result.language.title}: FAILED: {case.name}\n    {failure}")
        result.with_agent = str(passed) if passed == len(taking_part) else f"{passed}/{len(taking_part)} FAILED"


class _With:
    """The language, driven with the environment of the real agent's programs."""

    def __init__(self, language, agent, programs):
        self.does, self.title, self.command = language.does, language.title, language.command
        self.environment = {
            **language.environment, "PATH": programs + ":" + os.environ["PATH"], "LANYARD_SOCKET": agent.socket}
        self.agent = agent


def opened(t: Trial, client="c", **members):
    if t.driver is None:
        t.start_driver()
    return t.driver.do("open", client=client, socket=t.language.agent.socket, **members)


@with_agent("tells its features and limits")
def hello(t):
    told = opened(t, connect=True, name="conformance", version="1")
    same(told.get("protocol"), "1", "the protocol")
    if "token" not in told.get("features", []):
        raise CaseFailed(f"the features are {told.get('features')}")


@with_agent("a token, cached, rejected and replaced")
def tokens(t):
    opened(t)
    first = t.driver.result(t.call(params={"account": "alice"}))
    again = t.driver.result(t.call(params={"account": first["account"]}))
    same((again["source"], again["accessToken"]), ("cache", first["accessToken"]), "source and token")
    other = t.driver.result(t.call(params={"account": "bob"}))
    if other["accessToken"] == first["accessToken"]:
        raise CaseFailed("two accounts have one token")
    new = t.driver.result(t.call("token.reject", {"account": "alice", "fingerprint": first["fingerprint"]}))
    if new["fingerprint"] == first["fingerprint"]:
        raise CaseFailed("the rejected token came back")


@with_agent("typed methods", "typed")
def typed(t):
    opened(t)
    listed = t.driver.result(t.typed("account.list"))
    same(sorted(account["alias"] for account in listed["accounts"]), ["alice", "bob"], "the aliases")
    status = t.driver.result(t.typed("agent.status"))
    same((status["locked"], status["accounts"]["total"]), (False, 2), "lock and number of accounts")
    error = t.driver.error(t.typed("token.get", {"account": "carol"}), "agent")
    same((error["code"], error["name"]), (2001, "accountNotFound"), "the error")


@with_agent("fifty calls at once", "shared")
def at_once(t):
    opened(t)
    numbers = [t.call(params={"account": name}) for name in ("alice", "bob") * 25]
    tokens = {t.driver.result(number)["accessToken"] for number in numbers}
    same(len(tokens), 2, "the number of tokens")


@with_agent("a cancelled call ends in the agent", "cancel")
def cancelled(t):
    opened(t)
    begun = t.driver.result(
        t.call("signIn.begin", {"provider": "practice", "flow": "browser", "openBrowser": False}))
    number = t.call("signIn.wait", {"signIn": begun["signIn"], "timeoutSeconds": 30})
    # The agent answers in any order, so this answer says nothing of the call before; it has begun by then.
    t.driver.result(t.call("agent.status"))
    t.driver.do("cancel", of=number)
    t.driver.error(number, "cancelled")
    t.driver.result(t.call("signIn.cancel", {"signIn": begun["signIn"]}))


@with_agent("events", "events")
def events(t):
    opened(t)
    number = t.driver.send("events", client="c", types=["token.refreshed"])
    t.driver.result(number)
    token = t.driver.result(t.call("token.refresh", {"account": "bob"}))
    event = t.driver.event(number)
    same((event["type"], event["account"]), ("token.refreshed", token["account"]), "type and account")
    same(event["data"]["generation"], token["generation"], "the generation")


@with_agent("a grant limits the client", "grant")
def grant(t):
    opened(t, "owner")
    made = t.driver.result(
        t.call("grant.create", {"client": "conformance", "accounts": ["alice"], "methods": ["token.get"]}, client="owner"))
    opened(t, "limited", grant=made["secret"])
    t.driver.result(t.call(params={"account": "alice"}, client="limited"))
    error = t.driver.error(t.call("account.signOut", {"account": "alice", "mode": "soft"}, client="limited"), "agent")
    same(error["name"], "notPermitted", "the name of the error")


@with_agent("the HTTP helper replaces a token that a server refuses", "http")
def http(t):
    opened(t)
    resource = Resource(t, (401, {"WWW-Authenticate": 'Bearer error="invalid_token"'}), (200, {}))
    answer = t.driver.do(
        "http", client="c", account="bob", origins=[resource.origin], url=resource.origin + "/me")
    same(answer["status"], 200, "the status")
    first, second = (resource.headers(index)["authorization"] for index in (0, 1))
    if first == second:
        raise CaseFailed("the second request has the token of the first")


@with_agent("a killed agent: calls fail, streams go on with the next one", "events", "shared")
def killed(t):
    opened(t, start=False)
    number = t.driver.send("events", client="c", types=["token.refreshed"])
    t.driver.result(number)
    begun = t.driver.result(
        t.call("signIn.begin", {"provider": "practice", "flow": "browser", "openBrowser": False}))
    waiting = t.call("signIn.wait", {"signIn": begun["signIn"], "timeoutSeconds": 30})
    t.driver.result(t.call("agent.status"))
    agent = t.language.agent
    agent.end(signal.SIGKILL)
    t.driver.error(waiting, "connectionLost", 5)
    agent.start()
    token = t.driver.result(t.call(params={"account": "alice"}))
    if not token["accessToken"]:
        raise CaseFailed("the new agent gave no token")
    same(t.driver.event(number, 15)["type"], "event.gap", "the first event after the restart")
    t.driver.result(t.call("token.refresh", {"account": "alice"}))
    kinds = [t.driver.event(number)["type"]]
    same(kinds, ["token.refreshed"], "the next event")
