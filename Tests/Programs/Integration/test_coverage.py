"""A caller whose grant covers one account learns nothing of another one, and changes nothing of it, by any method.

Every method of the contract is called with each of its members that can name something: once with what belongs to the
other account, once with what belongs to nobody. The answers must be the same. What is told without being named is
compared with an agent on which the other account never was.
"""

import glob
import json
import os
import re
import socket
import unittest

from agent_fixture import PATIENCE_SECONDS, ROOT, AgentFixture, add_provider, raw

NOT_PERMITTED, PROVIDER_NOT_FOUND, NOT_FOUND = 1007, 3005, 6003
RULES = "https://rules.other.example/*"


def contract():
    methods = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "Schemas", "methods", "*.json"))):
        with open(path) as file:
            method = json.load(file)
        methods[method["name"]] = method
    return methods


METHODS = contract()
NEVER = {name for name, method in METHODS.items() if method.get("underGrant") == "never"}
# They end the agent or the connection's access, or wait for a person.
UNCALLED = {"agent.shutdown", "agent.lock", "agent.unlock", "agent.initialize"}
# A grant names these; `*` leaves them out.
PATTERNS = ["*"] + sorted({
    f"{name.split('.')[0]}.*" for name in METHODS if not name.startswith("rpc.") and name not in NEVER})


def kind(schema):
    """What a member of params names: the type that its schema refers to."""
    if schema.get("type") == "array":
        return kind(schema.get("items", {}))
    return os.path.basename(schema.get("$ref", "")).removesuffix(".json")


class Coverage(AgentFixture):
    def setUp(self):
        self.practice = self.provider()
        self.agent, self.owner = self.person()
        self.hers = self.with_another(self.owner)
        self.canaries = [text for texts in self.hers.values() for text in texts] + [
            "carolalias", "bobclient", "other.example"]
        self.secret = self.grant(self.owner)

    def person(self):
        """An agent at which Alice is signed in."""
        agent = self.scene()
        client = self.client(agent)
        origins = {"allowedOrigins": [self.practice.issuer, "https://api.example"]}
        add_provider(client, self.practice, **origins)
        client.call("signIn.import", self.token("practice", "alice", alias="alice"))
        client.call("rule.add", {"pattern": "https://api.example/alice/*", "account": "alice"})
        return agent, client

    def token(self, provider, person, **members):
        return {"provider": provider, "refreshToken": self.practice.refresh_token(person), **members}

    def with_another(self, owner, provider="bobprovider"):
        """Bob, by default at a provider of his own, and what he has: by the type of a member of params, or by its name
        for ids of the agent."""
        if provider == "bobprovider":
            owner.call("provider.add", {
                "name": provider, "issuer": self.practice.issuer, "clientId": "lanyard-demo", "scopes": ["openid"],
                "allowedOrigins": ["https://api.other.example"]})
        owner.call("signIn.import", self.token(provider, "carol", alias="carolalias"))
        owner.call("account.signOut", {"account": "carolalias", "mode": "offline"})
        account = owner.call("signIn.import", self.token(provider, "bob", alias="bobalias"))["account"]
        profile = owner.call("account.get", {"account": account})
        rule = owner.call("rule.add", {"pattern": RULES, "account": account})["rule"]
        sign_in = owner.call("signIn.begin", {"provider": provider, "flow": "paste", "account": account})["signIn"]
        grant = owner.call(
            "grant.create", {"client": "bobclient", "accounts": [account], "methods": ["token.get"]})["grant"]
        (revocation,) = [entry["id"] for entry in owner.call("revocation.list", {})["revocations"]]
        return {
            "accountSelector": [account, "bobalias", profile["email"]], "accountId": [account],
            "providerName": ["bobprovider"], "alias": ["bobalias"],
            "rule": [rule], "signIn": [sign_in], "grant": [grant], "revocation": [revocation],
        }

    NOBODYS = {
        "accountSelector": ["acc_aaaaaaaaaaaaaaaaaaaaaaaaaa", "nobody", "nobody@nowhere.example"],
        "accountId": ["acc_aaaaaaaaaaaaaaaaaaaaaaaaaa"], "providerName": ["nobodys"], "alias": ["unused"],
        "rule": ["rule_aaaaaaaaaaaaaaaa"], "signIn": ["sgn_aaaaaaaaaaaaaaaaaaaaaaaaaa"],
        "grant": ["grt_aaaaaaaaaaaaaaaa"], "revocation": ["rev_aaaaaaaaaaaaaaaa"],
    }

    def grant(self, owner):
        made = owner.call("grant.create", {"client": "walker", "accounts": ["alice"], "methods": PATTERNS})
        return made["secret"]

    def hello(self, secret=None):
        return {"client": {"name": "walker", "version": "1"}, "grant": secret or self.secret}

    def ask(self, method, params, agent=None, secret=None):
        """The answer under the grant, without the request's id."""
        lines = [
            {"id": 1, "method": "agent.hello", "params": self.hello(secret)},
            {"id": 2, "method": method, "params": params}]
        told = raw(
            (agent or self.agent).socket,
            b"".join(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n" for line in lines), lines=2)
        (answer,) = [line for line in told if line.get("id") == 2]
        return {name: member for name, member in answer.items() if name != "id"}

    def params(self, method):
        """The params of the method's example, about Alice and her provider."""
        params = dict(METHODS[method]["examples"][0]["params"])
        for name, schema in METHODS[method]["params"].get("properties", {}).items():
            if name in params and kind(schema) in ("accountSelector", "providerName"):
                mine = "alice" if kind(schema) == "accountSelector" else "practice"
                params[name] = [mine] if schema.get("type") == "array" else mine
        if method.startswith("token."):
            params["account"] = "alice"
        return params

    def naming(self):
        """(method, member, its schema, what of the other account it can name) for every member that names something."""
        for method in sorted(set(METHODS) - NEVER - UNCALLED - {"agent.hello"}):
            properties = dict(METHODS[method]["params"].get("properties", {}))
            if method.startswith("token."):
                properties["account"] = {"$ref": "accountSelector.json"}
            for member, schema in properties.items():
                what = member if kind(schema) == "handle" else kind(schema)
                if method == "provider.add" and member == "name" or what in self.hers:
                    yield method, member, schema, what

    def test_what_another_account_has_is_answered_like_what_nobody_has(self):
        called = 0
        for method, member, schema, what in self.naming():
            for hers, nobodys in zip(self.hers[what], self.NOBODYS[what]):
                with self.subTest(method=method, member=member, named=what):
                    answers = []
                    for named in (hers, nobodys):
                        value = [named] if schema.get("type") == "array" else named
                        answers.append(self.ask(method, {**self.params(method), member: value}))
                    self.assertEqual(answers[0], answers[1])
                    self.assertIn("error", answers[0])
                    self.assertIn(answers[0]["error"]["code"], (NOT_PERMITTED, PROVIDER_NOT_FOUND, NOT_FOUND))
                    called += 1
        self.assertGreater(called, 100)
        self.everything_of_the_other_is_as_it_was()

    def everything_of_the_other_is_as_it_was(self):
        self.assertEqual(self.owner.call("account.get", {"account": "bobalias"})["state"], "active")
        self.assertIn(RULES, [rule["pattern"] for rule in self.owner.call("rule.list", {})["rules"]])
        self.assertEqual(len(self.owner.call("account.list", {})["accounts"]), 3)
        self.assertEqual(len(self.owner.call("provider.list", {})["providers"]), 2)
        self.assertEqual(len(self.owner.call("revocation.list", {})["revocations"]), 1)
        self.assertIn("bobclient", [grant["client"] for grant in self.owner.call("grant.list", {})["grants"]])
        self.assertEqual(
            self.owner.call("account.resolve", {"url": "https://rules.other.example/x"})["account"],
            self.owner.call("account.get", {"account": "bobalias"})["account"])

    # What differs by itself: ids, instants, counts of all entries, and where the socket of a test lies.
    @staticmethod
    def without_chance(answer):
        text = json.dumps(answer, sort_keys=True)
        for pattern, word in (
            (r"\b[a-z]{2,5}_[A-Za-z0-9]+", "ID"), (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "INSTANT"),
            (r'"(sequence|connections|[a-zA-Z]+Ms)": -?\d+', r'"\1": 0'),
            (r"lanyard-agent-\w+", "DIRECTORY"),
        ):
            text = re.sub(pattern, word, text)
        return json.loads(text)

    def test_lists_are_those_of_an_agent_without_the_other_account(self):
        self.are_those_of_an_agent_alone(self.agent, self.secret)

    def test_lists_are_the_same_where_the_other_account_is_at_the_same_provider(self):
        agent, owner = self.person()
        self.with_another(owner, "practice")
        self.are_those_of_an_agent_alone(agent, self.grant(owner))

    def are_those_of_an_agent_alone(self, agent, secret):
        alone, owner = self.person()
        its = self.grant(owner)
        for method, params in (
            ("account.list", {}), ("account.get", {"account": "alice"}), ("agent.status", {}), ("agent.diagnose", {}),
            ("audit.list", {}), ("event.subscribe", {}), ("grant.list", {}), ("policy.list", {}),
            ("provider.list", {}), ("revocation.list", {}), ("rule.list", {}), ("signIn.begin", {
                "provider": "practice", "flow": "paste"}),
            ("account.resolve", {}), ("account.resolve", {"user": "bobalias", "url": "https://api.example/alice/x"}),
            ("account.resolve", {"url": "https://api.other.example/x"}),
            ("account.resolve", {"url": "https://rules.other.example/x"}),
            ("account.resolve", {"issuer": "https://nowhere.example"}),
            ("rule.add", {"pattern": "https://api.example/alice/*", "account": "alice"}),
            ("rule.add", {"pattern": RULES, "account": "alice"}),
            ("provider.remove", {"provider": "practice"}), ("session.get", {"account": "alice"}),
            ("operation.list", {"account": "alice"}), ("secret.list", {"account": "alice"}),
            ("request.send", {"account": "alice", "method": "GET", "url": "https://api.other.example/x"}),
        ):
            with self.subTest(method, params=params):
                here = self.ask(method, params, agent, secret)
                there = self.ask(method, params, alone, its)
                self.assertEqual(self.without_chance(here), self.without_chance(there))

    def test_no_answer_has_a_canary(self):
        asked = 0
        called = set(METHODS) - NEVER - UNCALLED - {"agent.hello", "rpc.discover"}
        # Signed in as long as other methods are called.
        for method in sorted(called, key=lambda name: (name in ("account.signOut", "account.forget"), name)):
            with self.subTest(method):
                self.has_no_canary(json.dumps(self.ask(method, self.params(method))))
                asked += 1
        self.assertGreater(asked, 70)

    def has_no_canary(self, told):
        for canary in self.canaries:
            self.assertNotIn(canary, told)

    def test_no_event_has_a_canary(self):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(self.agent.socket)
            for number, (method, params) in enumerate((("agent.hello", self.hello()), ("event.subscribe", {}))):
                line = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                connection.sendall(json.dumps(line).encode() + b"\n")
            lines = connection.makefile()
            lines.readline(), lines.readline()
            self.owner.call("account.switch", {"account": "bobalias"})
            self.owner.call("account.rename", {"account": "bobalias", "alias": "bobsnext"})
            self.owner.call("token.refresh", {"account": "bobsnext"})
            self.owner.call("rule.add", {"pattern": "https://next.other.example/*", "account": "bobsnext"})
            self.owner.call("signIn.begin", {"provider": "bobprovider", "flow": "paste", "announce": True})
            self.owner.call("account.signOut", {"account": "bobsnext", "mode": "offline"})
            self.owner.call("account.switch", {"account": "alice"})
            self.owner.call("account.rename", {"account": "alice", "alias": "marker"})
            told = ""
            while "marker" not in told:
                told += lines.readline()
        self.has_no_canary(told)
        self.assertNotIn("bobsnext", told)

    def test_rule_of_a_covered_account_leads_only_where_its_provider_does(self):
        rule = self.ask("rule.add", {"pattern": "https://api.example/*", "account": "alice"})["result"]["rule"]
        elsewhere = self.ask("rule.add", {"pattern": "https://attacker.example/*", "account": "alice"})
        self.assertEqual(elsewhere["error"]["code"], NOT_PERMITTED)
        self.assertEqual(self.ask("rule.remove", {"rule": rule}), {"jsonrpc": "2.0", "result": {"rule": rule}})

    def test_import_under_a_grant_renews_a_covered_account_and_adds_none(self):
        alice = self.owner.call("account.get", {"account": "alice"})["account"]
        bob = self.owner.call("signIn.import", self.token("practice", "bob"))["account"]
        renewed = self.ask("signIn.import", self.token("practice", "alice"))
        self.assertEqual(renewed["result"]["account"], alice)
        refused = [self.ask("signIn.import", self.token("practice", person)) for person in ("bob", "carol")]
        self.assertEqual(refused[0], refused[1])
        self.assertEqual(refused[0]["error"]["code"], NOT_PERMITTED)
        self.assertEqual(len(self.owner.call("account.list", {})["accounts"]), 4)
        self.assertTrue(self.owner.call("token.refresh", {"account": bob})["accessToken"])


if __name__ == "__main__":
    unittest.main()
