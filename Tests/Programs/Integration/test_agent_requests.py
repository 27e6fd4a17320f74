"""Requests of AI agents on the running agent: a person confirms in pinentry, and budgets hold over kills and crowds."""

import os
import stat
import threading
import time

from agent_fixture import AgentFixture, ConnectionLost, LanyardError, add_provider, import_account

NOT_FOUND, DENIED, STEP_UP, NOT_PERMITTED = 6003, 4001, 4002, 1007

# A pinentry that answers by itself: it speaks Assuan and logs each command. The answer is in a file beside it.
PINENTRY = r"""#!/usr/bin/python3 -u
import os, sys, time
log = open(__file__ + ".log", "a")
log.write("ENVIRONMENT " + " ".join(sorted(os.environ)) + "\n")
print("OK Pleased to meet you")
for line in sys.stdin:
    log.write(line)
    log.flush()
    if line.strip() == "CONFIRM":
        mode = open(__file__ + ".mode").read().strip()
        if mode == "slow":
            time.sleep(1)
        print("ERR 83886194 Not confirmed <Pinentry>" if mode == "no" else "OK")
    else:
        print("OK" if line.startswith("SET") else "ERR 83886355 unknown")
"""

ORIGIN = "https://api.example"


def capability(**members):
    return {"kind": "write", "offlineWindowSeconds": 86400, **members}


def names(path, *methods):
    return [{"origin": ORIGIN, "methods": list(methods), "path": path}]


class AgentRequests(AgentFixture):
    def prepare(self, capabilities, *options):
        scene = self.scene(*options)
        idp = self.provider()
        with scene.client() as client:
            add_provider(client, idp, allowedOrigins=[ORIGIN])
            self.account = import_account(client, idp, "alice", alias="work")
            client.call("policy.set", {"name": "default", "policy": {
                "name": "default", "version": 1, "capabilities": capabilities}})
        return scene

    def authorize(self, client, path="/pay/1", method="POST", **members):
        return client.call("request.authorize", {
            "account": "work", "method": method, "url": ORIGIN + path, **members})

    def pinentry(self, mode):
        path = os.path.join(self.directory(), "pinentry")
        with open(path, "w") as file:
            file.write(PINENTRY)
        os.chmod(path, stat.S_IRWXU)
        self.path = path
        self.set_mode(mode)
        return path

    def set_mode(self, mode):
        with open(self.path + ".mode", "w") as file:
            file.write(mode)

    def log(self):
        with open(self.path + ".log") as file:
            return file.read()

    def events(self, client, event):
        return [entry for entry in client.call("audit.list", {"limit": 1000})["entries"] if entry["event"] == event]

    # Prompts

    def paid(self, mode):
        scene = self.prepare({
            "pay": capability(stepUp={"method": "pinentry", "maxAgeSeconds": 3600}, requests=names("/pay/*", "POST")),
            "admin": capability(requires={"rolesAll": ["nobody"]}, requests=names("/pay/admin", "POST")),
        }, "--pinentry", self.pinentry(mode))
        return scene

    def test_a_yes_counts_for_the_capability_and_the_grant_alone(self):
        scene = self.paid("yes")
        with scene.client() as client:
            for name in ("robot", "other"):
                client.call("grant.create", {
                    "client": name, "accounts": ["work"], "methods": ["request.send"], "agent": True})
            error = self.refused(STEP_UP, lambda: self.authorize(client, grant="robot"))
            self.assertEqual(error.data["decision"]["reason"], "stepUpRequired")
            done = self.authorize(client, "/pay/17?amount=5", grant="robot", prompt="pinentry")
            self.assertEqual(done["decision"]["capability"], "pay")
            self.authorize(client, grant="robot")
            self.refused(STEP_UP, lambda: self.authorize(client, grant="other"))
            self.refused(STEP_UP, lambda: self.authorize(client))
            # Where something else is missing, the person is not asked.
            self.refused(DENIED, lambda: self.authorize(client, "/pay/admin", grant="robot", prompt="pinentry"))
            confirmed = self.events(client, "stepUp.verify")
            self.assertEqual(len(confirmed), 1)
            self.assertEqual(
                {name: confirmed[0]["facts"][name] for name in ("capability", "grantee", "method", "origin")},
                {"capability": "pay", "grantee": "robot", "method": "POST", "origin": ORIGIN})
            self.assertNotIn("amount", str(client.call("audit.list", {"limit": 1000})))
            # It ends with the account's step-ups.
            client.call("stepUp.clear", {"account": "work"})
            self.refused(STEP_UP, lambda: self.authorize(client, grant="robot"))
        log = self.log()
        self.assertEqual(log.count("CONFIRM"), 1)
        for part in ("robot", "Account: work", f"POST {ORIGIN}", "/pay/17", "Query: amount=5"):
            self.assertIn(part, log)

    def test_a_person_lets_an_ai_agent_open_a_websocket(self):
        scene = self.prepare({
            "exec": capability(
                stepUp={"method": "pinentry", "maxAgeSeconds": 3600}, requests=names("/pods/*", "WEBSOCKET")),
            "read": capability(kind="read", requests=names("/*", "GET")),
        }, "--pinentry", self.pinentry("yes"))
        with scene.client() as client:
            client.call("grant.create", {
                "client": "robot", "accounts": ["work"], "methods": ["request.send"], "agent": True})

            def opens(path, **members):
                return self.authorize(client, path, "WEBSOCKET", grant="robot", **members)

            self.refused(NOT_PERMITTED, lambda: opens("/other", prompt="pinentry"))
            self.refused(STEP_UP, lambda: opens("/pods/7"))
            self.assertEqual(opens("/pods/7", prompt="pinentry")["decision"]["capability"], "exec")
            self.authorize(client, "/pods/7", "GET", grant="robot")
        log = self.log()
        self.assertEqual(log.count("CONFIRM"), 1)
        self.assertIn(f"WEBSOCKET {ORIGIN}", log)

    def test_after_a_no_the_grant_asks_no_more_for_a_minute(self):
        scene = self.paid("no")
        with scene.client() as client:
            for name in ("robot", "other"):
                client.call("grant.create", {"client": name, "accounts": ["work"], "methods": ["request.send"]})
            self.assertEqual(
                self.refused(STEP_UP, lambda: self.authorize(client, grant="robot", prompt="pinentry")).data["reason"],
                "promptDeclined")
            self.set_mode("yes")
            error = self.refused(STEP_UP, lambda: self.authorize(client, grant="robot", prompt="pinentry"))
            self.assertEqual(error.data["reason"], "promptPaused")
            self.assertTrue(50_000 < error.data["retryAfterMs"] <= 60_000, error.data)
            self.authorize(client, grant="other", prompt="pinentry")
        self.assertEqual(self.log().count("CONFIRM"), 2)

    def test_callers_at_once_put_one_question(self):
        scene = self.paid("slow")
        with scene.client() as client:
            client.call("grant.create", {"client": "robot\n\x1b[2Jwork", "accounts": ["work"], "methods": ["request.send"]})
            grant = client.call("grant.list", {})["grants"][0]["grant"]
        done = []

        def ask():
            with scene.client(timeout=60) as client:
                done.append(self.authorize(client, grant=grant, prompt="pinentry")["tokenType"])

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(done, ["Bearer"] * 8)
        log = self.log()
        self.assertEqual(log.count("CONFIRM"), 1)
        self.assertNotIn("\x1b", log)

    def test_grant_revoked_during_the_question_gets_no_token(self):
        scene = self.paid("slow")
        with scene.client() as client, scene.client(timeout=60) as asking:
            grant = client.call("grant.create", {
                "client": "robot", "accounts": ["work"], "methods": ["request.send"]})["grant"]
            codes = []

            def ask():
                try:
                    self.authorize(asking, grant=grant, prompt="pinentry")
                    codes.append("token")
                except LanyardError as error:
                    codes.append(error.code)

            thread = threading.Thread(target=ask)
            thread.start()
            while not os.path.exists(self.path + ".log") or "CONFIRM" not in self.log():
                time.sleep(0.02)
            client.call("grant.revoke", {"grant": grant})
            thread.join(60)
            self.assertEqual(codes, [NOT_PERMITTED])

    # Budgets

    def test_crowds_and_kills_take_no_more_than_the_budget(self):
        budget = 20
        scene = self.prepare({
            "mail": capability(kind="read", budget={"perHour": budget}, requests=names("/mail", "POST")),
        })
        taken = []

        def take(number):
            try:
                with scene.client(timeout=30) as client:
                    for turn in range(6):
                        try:
                            if (number + turn) % 2:
                                if client.call("authorization.check", {
                                        "account": "work", "capability": "mail"})["effect"] == "allow":
                                    taken.append(1)
                            else:
                                self.authorize(client, "/mail")
                                taken.append(1)
                        except ConnectionLost:
                            return
                        except LanyardError as error:
                            self.assertEqual(error.code, DENIED)
                            self.assertEqual(error.data["decision"]["reason"], "budgetExceeded")
                            self.assertGreater(error.data["retryAfterMs"], 0)
            except (ConnectionLost, ConnectionError, OSError):
                pass

        for kill in (True, True, False):
            threads = [threading.Thread(target=take, args=(number,)) for number in range(4 if kill else 12)]
            for thread in threads:
                thread.start()
            if kill:
                time.sleep(0.03)
                scene.kill()
            for thread in threads:
                thread.join(60)
            if kill:
                scene.start()
        # A use that was taken and not told, because the agent was killed, is lost.
        self.assertLessEqual(len(taken), budget)
        self.assertGreater(len(taken), 0)
        with scene.client() as client:
            decision = client.call("authorization.check", {"account": "work", "capability": "mail"})
            self.assertEqual((decision["effect"], decision["reason"]), ("deny", "budgetExceeded"))
            facts = decision["failed"][0]["facts"]
            self.assertEqual(facts["perHour"], budget)
            self.assertTrue(3500 < facts["retryAfterSeconds"] <= 3660, facts)

    def test_grant_is_named_by_client_or_id(self):
        scene = self.prepare({"read": {"kind": "read"}})
        with scene.client() as client:
            self.refused(NOT_FOUND, lambda: self.authorize(client, grant="robot"))
            grant = client.call("grant.create", {
                "client": "robot", "accounts": ["work"], "methods": ["request.send"], "agent": True})["grant"]
            for name in ("robot", grant):
                self.authorize(client, method="GET", grant=name)
                self.refused(NOT_PERMITTED, lambda: self.authorize(client, grant=name))
            told = self.events(client, "request.authorize")
            self.assertEqual([entry["outcome"] for entry in told], ["allow", "notPermitted"])
            self.assertEqual([entry["count"] for entry in told], [2, 2])
            for entry in told:
                self.assertEqual((entry["facts"]["grant"], entry["facts"]["grantee"]), (grant, "robot"))
                self.assertNotIn("/pay", str(entry))
