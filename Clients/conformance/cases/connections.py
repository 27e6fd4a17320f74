"""Connections: hello, the end of the agent, reconnection, the end of the client."""

import os

from failures import CaseFailed, holds, same
from lines import HELLO
from trial import case


@case("connections: hello comes first, and alone")
def hello_first(t):
    t.agent.listen()
    number = t.opening(name="conformance", version="3.2.1", connect=True)
    peer = t.agent.peer()
    hello = peer.request("agent.hello")
    holds(hello["params"].get("client"), {"name": "conformance", "version": "3.2.1"}, "`client` of the params")
    same(hello["params"].get("protocol"), "1", "`protocol` of the params")
    if "grant" in hello["params"]:
        raise CaseFailed("a grant was sent that is none")
    peer.answer(hello, HELLO)
    holds(t.driver.result(number), {"instance": "instance-1", "protocol": "1"}, "the result of agent.hello")


@case("connections: no request before the answer to hello", "shared")
def nothing_before_hello(t):
    t.agent.listen()
    t.opened()
    numbers = [t.call(params={"account": str(index)}) for index in range(3)]
    peer = t.agent.peer()
    hello = peer.request("agent.hello")
    peer.silent()
    peer.answer(hello, HELLO)
    for _ in numbers:
        peer.answer(peer.request("token.get"), {})
    for number in numbers:
        t.driver.result(number)
    t.agent.no_peer(0.1)


@case("connections: a grant goes to hello only", "grant")
def grant(t):
    t.agent.listen()
    t.opened(grant="not-a-real-grant")
    number = t.call(params={"account": "work"})
    peer = t.agent.peer()
    same(peer.greet().get("grant"), "not-a-real-grant", "`grant` of the params")
    request = peer.request("token.get")
    if "not-a-real-grant" in str(request):
        raise CaseFailed("the grant is in another request")
    peer.answer(request, {})
    t.driver.result(number)


@case("connections: a refused hello is the error of the call")
def refused_hello(t):
    t.agent.listen()
    t.opened()
    number = t.call(params={"account": "work"})
    peer = t.agent.peer()
    peer.fail(peer.request("agent.hello"), 6001, "notPermitted", reason="grantUnknown")
    same(t.driver.error(number, "agent")["code"], 6001, "the code")
    number = t.call(params={"account": "work"})
    peer = t.agent.greeted()
    peer.answer(peer.request("token.get"), {"ok": True})
    same(t.driver.result(number), {"ok": True}, "the result")


@case("connections: a refusal at the door is told")
def refused_connection(t):
    t.agent.listen()
    t.opened()
    number = t.call(params={"account": "work"})
    peer = t.agent.peer()
    error = {"code": 1003, "message": "full", "data": {"name": "overloaded", "retryable": True, "retryAfterMs": 100}}
    peer.say({"jsonrpc": "2.0", "id": None, "error": error})
    peer.hang_up()
    found = t.driver.error(number)
    if found["kind"] == "agent":
        same((found["code"], found.get("retryAfterMs")), (1003, 100), "code and pause")
    elif found["kind"] != "connectionLost":
        raise CaseFailed(f"the call ended with {found['kind']}")


@case("connections: all calls share one", "shared")
def one_connection(t):
    peer = t.connected()
    numbers = [t.call(params={"account": str(index)}) for index in range(12)]
    for request in [peer.request("token.get") for _ in numbers]:
        peer.answer(request, {})
    for number in numbers:
        t.driver.result(number)
    t.agent.no_peer(0.1)


@case("connections: the agent's end fails all calls at once", "shared")
def agent_ends(t):
    peer = t.connected()
    numbers = [t.call(params={"account": str(index)}) for index in range(8)]
    for _ in numbers:
        peer.request("token.get")
    peer.hang_up()
    for number in numbers:
        same(t.driver.error(number, "connectionLost", 3)["retryable"], True, "`retryable`")


@case("connections: a lost call is not sent again")
def not_sent_twice(t):
    peer = t.connected()
    number = t.call("operation.enqueue", {"account": "work"})
    peer.request("operation.enqueue")
    peer.hang_up()
    t.driver.error(number, "connectionLost")
    t.agent.no_peer()
    number = t.call(params={"account": "work"})
    peer = t.agent.greeted()
    peer.answer(peer.request("token.get"), {"ok": True})
    same(t.driver.result(number), {"ok": True}, "the result")
    peer.silent()


@case("connections: the next call finds a new agent")
def new_agent(t):
    peer = t.connected()
    t.works(peer)
    t.agent.stop_listening()
    peer.hang_up()
    t.agent.listen()
    number = t.call(params={"account": "work"})
    second = t.agent.greeted(instance="instance-2")
    second.answer(second.request("token.get"), {"from": "instance-2"})
    same(t.driver.result(number), {"from": "instance-2"}, "the result")


@case("connections: no agent at the socket")
def no_agent(t):
    t.opened(start=False)
    number = t.call(params={"account": "work"})
    same(t.driver.error(number, "agentNotRunning")["retryable"], True, "`retryable`")
    t.agent.listen()
    number = t.call(params={"account": "work"})
    peer = t.agent.greeted()
    peer.answer(peer.request("token.get"), {})
    t.driver.result(number)


@case("connections: a socket that nothing serves")
def stale_socket(t):
    t.agent.listen()
    t.agent.stop_listening()
    t.opened()
    t.driver.error(t.call(params={"account": "work"}), "agentNotRunning")


@case("connections: the socket of LANYARD_SOCKET")
def socket_of_the_environment(t):
    t.agent.listen()
    t.start_driver(LANYARD_SOCKET=t.agent.path)
    t.driver.do("open", client="c")
    number = t.call(params={"account": "work"})
    peer = t.agent.greeted()
    peer.answer(peer.request("token.get"), {})
    t.driver.result(number)


@case("connections: the socket of XDG_RUNTIME_DIR")
def socket_of_the_session(t):
    directory = os.path.join(t.directory, "runtime", "lanyard")
    os.makedirs(directory, mode=0o700)
    t.agent.path = os.path.join(directory, "agent.sock")
    t.agent.listen()
    t.start_driver()
    t.driver.do("open", client="c")
    number = t.call(params={"account": "work"})
    peer = t.agent.greeted()
    peer.answer(peer.request("token.get"), {})
    t.driver.result(number)


@case("connections: a closed client")
def closed(t):
    peer = t.connected()
    number = t.call(params={"account": "work"})
    peer.request("token.get")
    t.driver.do("close", client="c")
    t.driver.error(number, "clientClosed")
    peer.gone()
    same(t.driver.error(t.call(params={"account": "work"}), "clientClosed")["retryable"], False, "`retryable`")
    t.agent.no_peer(0.1)


@case("connections: two clients are two connections")
def two_clients(t):
    first, second = t.connected("a"), t.connected("b")
    one, two = t.call(client="a"), t.call(client="b")
    first.answer(first.request("token.get"), {"of": "a"})
    second.answer(second.request("token.get"), {"of": "b"})
    same((t.driver.result(one), t.driver.result(two)), ({"of": "a"}, {"of": "b"}), "the results")
    t.driver.do("close", client="a")
    number = t.call(client="b")
    second.answer(second.request("token.get"), {})
    t.driver.result(number)


@case("connections: the driver ends with its input")
def ends_with_input(t):
    t.connected()
    t.driver.finish()
