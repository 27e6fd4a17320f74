"""Calls a second of each client: `token.get` over one connection, one after the other, beside the C load client.

Each round measures all of them in turn against one agent, and a ratio is taken within its round, so that it depends on
the machine as little as possible. Agent and client share one CPU, as in the bench of the agent: a call waits for no other
CPU to wake up.
"""

import os
import statistics
import sys

import real_agent
from driver import Driver, environment_for

ROUNDS = 5
CALLS = {"shell": 20}
USUAL_CALLS = 4000


def run(languages, programs):
    real_agent.harness()
    from measure import Load, bind
    from servers import compile_program

    with real_agent.running(os.path.abspath(programs)) as agent:
        load = Load(compile_program("load", agent.directory), 0.4)
        request = os.path.join(agent.directory, "request")
        with open(request, "w", encoding="utf-8") as file:
            file.write('{"jsonrpc":"2.0","id":%ID%,"method":"token.get","params":{"account":"alice"}}\n')
        with agent.client() as client:
            client.call("token.get", {"account": "alice"})
        rates = {"C": []}
        drivers = {}
        for language in languages:
            place = os.path.join(agent.directory, "driver-" + language.title.replace(" ", "-"))
            os.mkdir(place)
            environment = environment_for(
                place, {**language.environment, "PATH": os.path.abspath(programs) + ":" + os.environ["PATH"],
                        "LANYARD_SOCKET": agent.socket})
            driver = Driver(language.command, environment, sys.stderr)
            driver.do("open", client="c", socket=agent.socket)
            drivers[language] = driver
            rates[language.title] = []
        first_cpu = min(os.sched_getaffinity(0))
        try:
            for _ in range(ROUNDS):
                rates["C"].append(load.run(agent.socket, request, pid=agent.pid, same_cpu=True)["rate"])
                for language, driver in drivers.items():
                    count = CALLS.get(language.folder, USUAL_CALLS)
                    bind(agent.pid, {first_cpu})
                    bind(driver.pid, {first_cpu})
                    number = driver.send("load", client="c", account="alice", count=count)
                    rates[language.title].append(count / driver.result(number, 120)["seconds"])
        finally:
            for driver in drivers.values():
                driver.kill()
    print(f"{'client':24}{'calls a second':>16}{'of the C client':>18}")
    for name, measured in rates.items():
        ratio = statistics.median(one / reference for one, reference in zip(measured, rates["C"]))
        print(f"{name:24}{statistics.median(measured):>16,.0f}{ratio:>18.3f}")
    return True
