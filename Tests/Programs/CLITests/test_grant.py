"""grant, as people and programs see it."""

import json
import os
import stat

import people
from fake_agent import Error
from person import PATIENCE_SECONDS, Person
from test_real import RealProvider

SECRET = "not-a-real-grant-9Qw2"
GRANT = {
    "grant": "grt_5", "client": "ci", "accounts": [people.WORK["id"]], "methods": ["token.get", "session.*"],
    "createdAt": "2030-01-01T00:00:00.000Z", "expiresAt": "2999-01-08T00:00:00.000Z",
}


def agent(test, **answers):
    return test.agent({
        **people.accounts(people.WORK, people.HOME), "grant.create": {**GRANT, "secret": SECRET},
        "grant.list": {"grants": [GRANT]}, "grant.revoke": {"grant": "grt_5"}, **answers})


def created(calls):
    return [call for call in calls if call[0] == "grant.create"]


class GrantTests(Person):
    def test_what_a_program_can_do_is_said_in_words(self):
        served = agent(self)
        calls = served.calls
        done = self.lanyard("grant", "create", "ci", "--can", "requests", "--can", "status", "-m", "session.get", "-u", "work")
        self.assertEqual(done.returncode, 0, done.stderr)
        methods = created(calls)[0][1]["methods"]
        self.assertEqual(methods[:2], ["session.get", "request.send"])
        self.assertEqual(len(methods), len(set(methods)))
        served.answers["grant.list"] = {"grants": [{**GRANT, "methods": methods + ["trust.list"]}]}
        self.assertIn("requests, status, trust.list", self.answer("grant"))
        self.lanyard("grant", "create", "ci", "--can", "tokens", "--can", "decisions", "--can", "status", "-u", "work")
        methods = created(calls)[1][1]["methods"]
        self.assertEqual(len(methods), len(set(methods)))
        served.answers["grant.list"] = {"grants": [{**GRANT, "methods": methods}]}
        self.assertIn("tokens, decisions, status ", self.answer("grant"))
        self.refused(2, "grant", "create", "ci", "-u", "work")
        self.refused(2, "grant", "create", "ci", "--can", "fly")

    def test_the_secret_is_alone_on_stdout(self):
        calls = agent(self).calls
        done = self.lanyard("grant", "create", "ci", "-m", "token.get", "-m", "session.*", "-u", "work", "-u", "home",
                            "--expires-in", "7d")
        self.assertEqual((done.returncode, done.stdout), (0, SECRET + "\n"), done.stderr)
        self.assertIn("grt_5 for ci ends in", done.stderr)
        self.assertNotIn(SECRET, done.stderr)
        self.assertEqual(created(calls), [("grant.create", {
            "client": "ci", "accounts": ["work", "home"], "methods": ["token.get", "session.*"],
            "expiresInSeconds": 604800})])

    def test_of_several_accounts_an_unknown_one_is_not_mistaken_for_another(self):
        agent(self, **{"grant.create": Error(2001, "accountNotFound", "There is no such account.")})
        create = ["grant", "create", "ci", "--can", "tokens", "-u"]
        self.assertNotIn("no account work", self.refused(1, *create, "work", "-u", "nobody"))
        self.assertIn("There is no account nobody here.", self.refused(1, *create, "nobody"))

    def test_origins_and_an_ai_agent(self):
        calls = agent(self, **{"grant.list": {"grants": [
            {**GRANT, "origins": ["https://api.example"], "capabilities": ["note"],
             "authorizationDetailTypes": ["payment"], "agent": True}]}}).calls
        done = self.lanyard("grant", "create", "ai", "-m", "request.send", "-u", "work", "--origin", "https://api.example",
                            "--origin", "https://b.example", "--capability", "note", "--details-type", "payment", "--agent")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(created(calls), [("grant.create", {
            "client": "ai", "accounts": ["work"], "methods": ["request.send"],
            "origins": ["https://api.example", "https://b.example"], "capabilities": ["note"],
            "authorizationDetailTypes": ["payment"], "agent": True})])
        title, row = self.answer("grant").splitlines()
        self.assertEqual(title.split(), ["GRANT", "PROGRAM", "MAY", "AT", "FOR", "ENDS"])
        self.assertRegex(row, r"^grt_5 +ci \(AI agent\) +.*\(payment; claims note\) +api.example +work +in ")

    def test_an_ai_agent_may_send_requests_and_gets_no_token_unless_something_else_is_said(self):
        calls = agent(self).calls
        self.lanyard("grant", "create", "ai", "--agent", "-u", "work")
        self.lanyard("grant", "create", "ai", "--agent", "-u", "work", "--can", "status")
        first, second = [params for _, params in created(calls)]
        self.assertEqual((first["methods"], first["agent"]), (["request.send", "account.resolve"], True))
        self.assertNotIn("request.send", second["methods"])

    def test_without_an_account_the_selected_one_is_used(self):
        calls = agent(self).calls
        self.lanyard("grant", "create", "ci", "-m", "*")
        with open(os.path.join(self.work, ".lanyard"), "w") as file:
            file.write("home\n")
        self.answer("trust")
        self.lanyard("grant", "create", "ci", "-m", "*")
        self.assertEqual([params["accounts"] for _, params in calls], [["@active"], ["home"]])
        self.assertNotIn("expiresInSeconds", calls[0][1])

    def test_on_a_terminal_the_secret_comes_with_a_note(self):
        agent(self)
        screen = self.on_terminal("grant", "create", "ci", "-m", "token.get")
        self.assertEqual(screen.code, 0)
        self.assertEqual(screen.text.splitlines()[0], SECRET)
        self.assertIn("shown only once", screen.text)

    def test_to_writes_the_secret_to_a_private_file(self):
        agent(self)
        path = os.path.join(self.work, "grant")
        done = self.lanyard("grant", "create", "ci", "-m", "token.get", "--to", path)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertNotIn(SECRET, done.stderr)
        with open(path) as file:
            self.assertEqual(file.read(), SECRET + "\n")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)

    def test_to_makes_the_directory_of_the_file(self):
        agent(self)
        path = os.path.join(self.home, ".config", "ci", "grant")
        done = self.lanyard("grant", "create", "ci", "-m", "token.get", "--to", path)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode), 0o700)
        with open(path) as file:
            self.assertEqual(file.read(), SECRET + "\n")

    def test_json_beside_a_file_has_no_secret(self):
        agent(self)
        path = os.path.join(self.work, "grant")
        done = self.lanyard("grant", "create", "ci", "-m", "token.get", "--to", path, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        answer = json.loads(done.stdout)
        self.assertEqual(answer["grant"], "grt_5")
        self.assertNotIn("secret", answer)
        with open(path) as file:
            self.assertEqual(file.read(), SECRET + "\n")

    def test_a_grant_whose_secret_is_lost_is_revoked(self):
        served = agent(self)
        for words in ([], ["--json"]):
            with self.subTest(words), open("/dev/full", "w") as full:
                done = self.writing_to(full, "grant", "create", "ci", "-m", "token.get", *words)
                self.assertEqual(done.returncode, 1)
                self.assertIn("could not be written: No space left on device. The grant was revoked.", done.stderr)
                self.assertEqual(served.calls[-1], ("grant.revoke", {"grant": "grt_5"}))

    def test_a_grant_that_can_not_be_revoked_either_is_named(self):
        agent(self, **{"grant.revoke": Error(5001, "storeUnavailable")})
        with open("/dev/full", "w") as full:
            done = self.writing_to(full, "grant", "create", "ci", "-m", "token.get")
        self.assertEqual(done.returncode, 1)
        self.assertIn("`lanyard grant revoke grt_5` ends the grant", done.stderr)

    def test_a_grant_from_a_pipe_is_refused_where_a_proxy_reads_it_too(self):
        calls = agent(self).calls
        reading, writing = os.pipe()
        os.close(writing)
        self.addCleanup(os.close, reading)
        process = self.start(
            "exec", "work", "--proxy", "--", "true", pass_fds=(reading,),
            environment={"LANYARD_GRANT_FILE": f"/dev/fd/{reading}"})
        out, told = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual((process.returncode, out), (2, ""))
        self.assertIn("LANYARD_GRANT_FILE names a pipe", told)
        self.assertEqual(calls, [])

    def test_an_existing_file_is_not_overwritten(self):
        calls = agent(self).calls
        path = os.path.join(self.work, "grant")
        with open(path, "w") as file:
            file.write("mine")
        os.symlink(path, path + "-link")
        for target in (path, path + "-link", os.path.join(path, "below-a-file")):
            self.assertIn("No grant was created", self.refused(2, "grant", "create", "ci", "-m", "*", "--to", target))
        self.assertEqual(calls, [])
        with open(path) as file:
            self.assertEqual(file.read(), "mine")

    def test_a_refused_grant_leaves_no_file(self):
        agent(self, **{"grant.create": Error(1007, "notPermitted")})
        path = os.path.join(self.work, "grant")
        self.refused(6, "grant", "create", "ci", "-m", "*", "--to", path)
        self.assertFalse(os.path.exists(path))

    def test_mistakes(self):
        calls = agent(self).calls
        self.refused(2, "grant", "create")
        self.assertIn("-m", self.refused(2, "grant", "create", "ci"))
        for time in ("7", "d", "-1d", "0s", "1w", "9999d", "9223372036854775807d"):
            self.refused(2, "grant", "create", "ci", "-m", "*", "--expires-in", time)
        self.assertEqual(calls, [])

    def test_list_and_revoke(self):
        agent(self)
        title, row = self.answer("grant").splitlines()
        self.assertEqual(title.split(), ["GRANT", "PROGRAM", "MAY", "FOR", "ENDS"])
        self.assertRegex(row, r"^grt_5 +ci +token.get, session.\* +work +in ")
        self.assertEqual(json.loads(self.answer("grant", "list", "--json")), {"grants": [GRANT]})
        self.assertIn("Revoked", self.answer("grant", "revoke", "grt_5"))

    def test_what_a_person_added_is_listed(self):
        added = {"origins": ["https://other.example"], "methods": ["POST"], "capabilities": [],
                 "addedAt": "2030-01-01T00:00:00.000Z", "expiresAt": "2999-01-01T00:00:00.000Z"}
        agent(self, **{"grant.list": {"grants": [{**GRANT, "additions": [added]}, {**GRANT, "additions": []}]}})
        header, first, second = self.answer("grant").splitlines()
        self.assertIn("AND", header.split())
        self.assertRegex(first, r"other\.example with POST, ends in \d+ days")
        self.assertNotIn("other.example", second)

    def test_no_grant(self):
        agent(self, **{"grant.list": {"grants": []}})
        self.assertIn("No program", self.lanyard("grant").stderr)

    def test_control_characters_of_a_caller_are_replaced(self):
        agent(self, **{"grant.list": {"grants": [{**GRANT, "client": "\x1b[2J"}]}})
        self.assertNotIn("\x1b", self.answer("grant"))


class OwnGrantTests(Person):
    """LANYARD_GRANT_FILE, and the person's own grant."""

    def keep(self, text=SECRET + "\n", mode=0o600, path=None):
        path = path or os.path.join(self.work, "grant")
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return {"LANYARD_GRANT_FILE": path}

    def hello(self, params, connection):
        self.assertEqual((params["grant"], params["client"]["name"]), (SECRET, "lanyard"))
        return {}

    def test_the_grant_is_sent_before_the_first_request(self):
        calls = self.agent({"token.get": people.TOKEN, "agent.hello": self.hello}).calls
        self.assertEqual(self.answer("token", "work", environment=self.keep()), people.TOKEN["accessToken"] + "\n")
        self.assertEqual([method for method, _ in calls], ["agent.hello", "token.get"])

    def test_a_refused_grant_ends_the_command(self):
        calls = self.agent({"token.get": people.TOKEN, "agent.hello": Error(1007, "notPermitted")}).calls
        self.refused(6, "token", "work", environment=self.keep())
        self.assertEqual([method for method, _ in calls], ["agent.hello"])

    def test_an_unusable_grant_file_ends_the_command(self):
        calls = self.agent({"token.get": people.TOKEN, "agent.hello": self.hello}).calls
        self.assertIn("can't be read", self.refused(
            2, "token", "work", environment={"LANYARD_GRANT_FILE": "/nonexistent"}))
        self.assertIn("chmod 600", self.refused(1, "token", "work", environment=self.keep(mode=0o640)))
        self.refused(2, "token", "work", environment=self.keep(text="\n"))
        self.refused(2, "token", "work", environment=self.keep(text="x" * 5000))
        self.assertEqual(calls, [])

    def owner(self):
        self.keep(path=os.path.join(self.home, ".local", "state", "lanyard", "owner-grant"))

    def test_the_owner_grant_is_sent(self):
        calls = self.agent({"token.get": people.TOKEN, "agent.hello": self.hello}).calls
        self.owner()
        self.answer("token", "work")
        self.assertEqual([method for method, _ in calls], ["agent.hello", "token.get"])

    def test_a_refused_owner_grant_is_dropped(self):
        """It is no grant of this one: the command comes in as any other program."""
        calls = self.agent({"token.get": people.TOKEN, "agent.hello": Error(1007, "notPermitted")}).calls
        self.owner()
        self.answer("token", "work")
        self.assertEqual([method for method, _ in calls], ["agent.hello", "token.get"])


class RealGrantTests(RealProvider):
    def test_a_program_with_a_grant_and_strict_grants(self):
        self.add_provider()
        self.sign_in("alice", "--alias", "work")
        self.sign_in("bob", "--alias", "home")
        path = os.path.join(self.work, "grant")
        self.lanyard("grant", "create", "ci", "-m", "token.get", "-u", "work", "--to", path)
        own = {"LANYARD_GRANT_FILE": path}
        self.assertTrue(self.answer("token", "work", environment=own))
        for words in (("token", "home"), ("list",), ("lock",), ("grant",)):
            self.refused(6, *words, environment=own)
        listed = self.answer("grant").splitlines()[1].split()
        self.assertEqual(listed[1:5], ["ci", "token.get", "work", "never"])
        self.assertIn("`lanyard grant list`", self.refused(1, "grant", "revoke", "ci"))
        self.answer("grant", "revoke", listed[0])
        self.refused(6, "token", "work", environment=own)
        told = self.answer("audit")
        self.assertRegex(told, f"grant {listed[0]} created for ci +lanyard")
        self.assertRegex(told, f"grant {listed[0]} of ci revoked")

    def test_each_word_covers_the_commands_that_it_is_for(self):
        self.add_provider()
        self.answer("provider", "update", "idp", "--allowed-origin", self.issuer, "-s", "openid", "-s", "offline_access", "-s",
                    "email", "--quiet")
        self.sign_in("alice", "--alias", "work")
        mail = json.loads(self.answer("rpc", "account.get", '{"account":"work"}'))["email"]
        page = self.issuer + "/protected"
        commands = {
            "tokens": [["token", "work"], ["token", mail], ["exec", "work", "--", "true"], ["exec", mail, "--", "true"],
                       ["exec", "work", "--env", "T=token", "--", "true"], ["credential", "headers", page],
                       ["resolve", page]],
            "requests": [["request", page], ["request", page, "-u", mail]],
            "operations": [["operations"], ["operations", "-u", "work"], ["operations", "-u", mail]],
            "decisions": [["can", "unheardOf"], ["can", "unheardOf", "work"], ["can", "unheardOf", mail]],
            "status": [["list"], ["status"], ["status", "work"], ["status", mail]],
        }
        for word, those in commands.items():
            path = os.path.join(self.work, word)
            self.lanyard("grant", "create", word, "--can", word, "-u", "work", "--to", path)
            for command in those:
                with self.subTest(word=word, command=command):
                    done = self.lanyard(*command, environment={"LANYARD_GRANT_FILE": path})
                    self.assertNotIn("does not cover", done.stderr)
                    # Without a policy, what is denied is an answer.
                    self.assertEqual(done.returncode, 6 if word == "decisions" else 0, done)
