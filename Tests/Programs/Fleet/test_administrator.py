"""What an administrator lays down, of the agent as it runs: docs/administrator.md."""

import contextlib
import json
import os
import shutil
import subprocess
import unittest
import urllib.error

from administrator_fixture import PATIENCE_SECONDS, Administered, policy
from agent_fixture import ROOT, LanyardError, add_provider, import_account
from harness import browse
from forms import in_quick_form

USAGE = 64
NOT_PERMITTED = 1007
PROVIDER_NOT_FOUND = 3005


@in_quick_form(
    "test_enforced_member_comes_before_the_persons_file_and_an_option", "test_bad_file_is_told_and_counts_as_none")
class Configuration(Administered):
    def test_enforced_member_comes_before_the_persons_file_and_an_option(self):
        scene = self.laid({"enforced": {"lockAfterSeconds": 7, "limits": {"connections": 21}}, "lockOn": ["sleep"]},
                          "--lock-after", "3600")
        own = os.path.join(scene.environment["XDG_CONFIG_HOME"], "lanyard", "agent.json")
        self.write(own, {"limits": {"connections": 99, "requestsInFlight": 3}})
        scene.start()
        client = self.client(scene)
        limits = client.call("agent.hello", {"client": {"name": "test", "version": "1"}})["limits"]
        self.assertEqual((limits["connections"], limits["requestsInFlight"]), (21, 3))
        told = client.call("agent.status")["administrator"]
        self.assertEqual(told["file"], self.path("agent.json"))
        self.assertEqual(told["enforced"], ["limits.connections", "lockAfterSeconds"])
        self.assertEqual(told["overruled"], ["limits.connections", "lockAfterSeconds"])
        self.assertEqual(told["problems"], [])
        self.assertEqual(self.findings(client, "administrator"), ["ok"])
        self.assertEqual(self.findings(client, "administratorOverrules"), ["notice"])
        for command in ("status", "doctor"):
            shown = self.lanyard(scene, command).stdout.decode()
            self.assertIn("lockAfterSeconds", shown)
            self.assertIn(self.path("agent.json"), shown)
        self.assertIn("enforces limits.connections, lockAfterSeconds", self.log(scene))

    def test_schema_has_the_members_of_the_persons_file_and_enforced(self):
        def schema(name):
            with open(os.path.join(ROOT, "Schemas", name)) as file:
                return json.load(file)

        own, person = schema("administrator.schema.json"), schema("agent.schema.json")
        self.assertEqual(own["properties"].pop("enforced")["$ref"], "agent.schema.json")
        self.assertEqual({name: of["$ref"] for name, of in own["properties"].items()},
                         {name: f"agent.schema.json#/properties/{name}" for name in person["properties"]})

    def test_default_counts_where_the_person_says_nothing(self):
        scene = self.laid({"lockAfterSeconds": 1})
        scene.start()
        client = self.client(scene)
        client.call("account.list")
        self.until(lambda: client.call("agent.status")["locked"], "the lock")
        other = self.laid({"lockAfterSeconds": 1}, "--lock-after", "3600")
        other.start()
        self.assertEqual(self.client(other).call("agent.status")["administrator"]["enforced"], [])

    def test_enforced_authorities_come_before_a_providers(self):
        scene = self.laid({"enforced": {"caFile": "/nowhere.pem"}})
        scene.start()
        self.assertIn("problem", self.findings(self.client(scene), "configuration"))

    def test_enforced_hard_sign_out_erases_in_every_mode(self):
        scene = self.laid({"enforced": {"signOut": "hard"}})
        scene.start()
        client = self.client(scene)
        idp = self.provider()
        add_provider(client, idp)
        status = client.call("agent.status")
        self.assertEqual(status["administrator"]["enforced"], ["signOut"])
        self.assertEqual(status["hardSignOutDemandedBy"], self.path("agent.json"))
        self.assertEqual(self.findings(client, "signOut"), ["ok"])
        for mode in ("soft", "hard", "offline"):
            with self.subTest(mode):
                revocations = idp.asked("/revoke")
                account = import_account(client, idp, "alice")
                client.call("secret.put", {"account": account, "name": "draft", "value": "kept by a program"})
                answer = client.call("account.signOut", {"account": account, "mode": mode})
                self.assertEqual((answer["mode"], answer["data"]), ("hard", "erased"))
                self.assertEqual(answer["demandedBy"], self.path("agent.json"))
                self.assertEqual(answer["revocation"], "queued" if mode == "offline" else "confirmed")
                self.assertEqual(idp.asked("/revoke"), revocations if mode == "offline" else revocations + 1)
                left = client.call("account.get", {"account": account})
                self.assertTrue(left["subject"].startswith("erased:"), left)
                self.assertNotIn("email", left)
                # The same person gets the account again, and nothing of the data.
                self.assertEqual(import_account(client, idp, "alice"), account)
                self.assertEqual(client.call("secret.list", {"account": account})["names"], [])
                client.call("account.signOut", {"account": account, "mode": mode})

    def test_demanded_hard_sign_out_erases_what_a_soft_one_kept(self):
        scene = self.laid({})
        scene.start()
        client = self.client(scene)
        idp = self.provider()
        add_provider(client, idp)
        account = import_account(client, idp, "alice")
        self.assertEqual(client.call("account.signOut", {"account": account, "mode": "soft"})["data"], "sealed")
        scene.end()
        self.lay("agent.json", '{"enforced": {"signOut": "hard"}}')
        scene.start()
        client = self.client(scene)
        self.assertEqual(client.call("account.signOut", {"account": account, "mode": "soft"})["data"], "erased")

    def test_persons_file_changes_no_enforced_sign_out(self):
        scene = self.laid({"signOut": "hard"})
        directory = os.path.join(scene.directory, "home", ".config", "lanyard")
        os.makedirs(directory, 0o700)
        with open(os.path.join(directory, "agent.json"), "w") as file:
            json.dump({"signOut": "asked"}, file)
        scene.start()
        self.assertNotIn("hardSignOutDemandedBy", self.client(scene).call("agent.status"))
        scene.end()
        self.lay("agent.json", '{"enforced": {"signOut": "hard"}}')
        scene.start()
        status = self.client(scene).call("agent.status")
        self.assertEqual(status["hardSignOutDemandedBy"], self.path("agent.json"))
        self.assertEqual(status["administrator"]["overruled"], ["signOut"])

    def test_bad_file_is_told_and_counts_as_none(self):
        for text, place in (("{\n \"enforced\": {\"proxi\": 1}}", ":2:15: "), ("{,}", ":1:2: "), ("[]", ":1:1: ")):
            with self.subTest(text):
                self.setUp()
                scene = self.laid(text)
                scene.start()
                client = self.client(scene)
                self.assertIn(self.path("agent.json") + place, self.log(scene))
                found = self.messages(client)
                self.assertTrue(any(self.path("agent.json") + place in message for message in found), found)
                status = client.call("agent.status")["administrator"]
                self.assertTrue(any(place in problem for problem in status["problems"]), status)
                self.assertNotIn("file", status)

    def test_bad_file_takes_nothing_away_that_was_enforced_before(self):
        scene = self.laid({"enforced": {"lockAfterSeconds": 7}})
        scene.start()
        scene.end()
        self.lay("agent.json", '{"enforced": ')
        scene.start()
        client = self.client(scene)
        told = client.call("agent.status")["administrator"]
        self.assertEqual((told["enforced"], told["file"]), (["lockAfterSeconds"], self.path("agent.json")))
        self.assertTrue(any("is not JSON" in problem for problem in told["problems"]), told)
        scene.end()
        os.unlink(self.path("agent.json"))
        scene.start()
        self.assertNotIn("administrator", self.client(scene).call("agent.status"))
        scene.end()
        self.lay("agent.json", '{"enforced": ')
        scene.start()
        self.assertEqual(self.client(scene).call("agent.status")["administrator"]["enforced"], [])

    def test_small_limit_of_descriptors_does_not_hide_the_file(self):
        scene = self.laid({"enforced": {"lockAfterSeconds": 7}})
        with open(os.path.join(scene.directory, "agent.log"), "ab") as log:
            scene.process = subprocess.Popen(
                ["prlimit", "--nofile=4:1024", *scene.command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=scene.environment)
        client = self.client(scene)
        client.connect(wait_seconds=PATIENCE_SECONDS)
        self.assertEqual(client.call("agent.status")["administrator"]["enforced"], ["lockAfterSeconds"])
        # And where all that may be open is open already.
        other = self.laid({"enforced": {"lockAfterSeconds": 7}})
        script = "for n in $(seq 3 23); do eval \"exec $n</dev/null\"; done; exec \"$@\""
        done = subprocess.run(
            ["prlimit", "--nofile=24:24", "bash", "-c", script, "bash", *other.command], env=other.environment,
            capture_output=True, timeout=PATIENCE_SECONDS)
        self.assertNotEqual(done.returncode, 0)

    def test_file_that_others_could_have_written_does_not_count(self):
        for spoil, words in (
            (lambda path: os.chmod(path, 0o666), "chmod go-w"),
            (lambda path: os.chmod(os.path.dirname(path), 0o777), "chmod go-w"),
            (lambda path: (os.rename(path, path + ".real"), os.symlink(path + ".real", path)), "symbolic link"),
            (lambda path: (os.unlink(path), os.mkfifo(path, 0o600)), "not a plain file"),
            (lambda path: (os.unlink(path), os.mkdir(path)), "not a plain file"),
            (lambda path: self.write(path, " " * (70 << 10)), "larger than"),
        ):
            with self.subTest(words):
                self.setUp()
                scene = self.laid({"enforced": {"lockAfterSeconds": 7}})
                spoil(self.path("agent.json"))
                scene.start()
                client = self.client(scene)
                self.assertEqual(client.call("agent.status")["administrator"]["enforced"], [])
                self.assertTrue(any(words in message for message in self.messages(client)), self.messages(client))
                self.assertIn(words, self.log(scene))

    @unittest.skipUnless(os.geteuid() == 0, "gives a file to another user")
    def test_file_of_another_user_does_not_count(self):
        scene = self.laid({"enforced": {"lockAfterSeconds": 7}})
        os.chown(self.path("agent.json"), 12345, 12345)
        scene.start()
        client = self.client(scene)
        self.assertEqual(client.call("agent.status")["administrator"]["enforced"], [])
        self.assertTrue(any("12345" in message for message in self.messages(client)))

    def test_directory_that_is_a_symbolic_link_does_not_count(self):
        scene = self.laid({"enforced": {"lockAfterSeconds": 7}})
        os.rename(self.system, self.system + ".real")
        os.symlink(self.system + ".real", self.system)
        scene.start()
        client = self.client(scene)
        self.assertEqual(client.call("agent.status")["administrator"]["enforced"], [])
        self.assertIn("symbolic link", self.log(scene))

    def test_change_of_the_file_is_told_and_counts_from_the_next_start(self):
        scene = self.laid({"enforced": {"lockAfterSeconds": 7}})
        scene.start()
        client = self.client(scene)
        self.write(self.path("agent.json"), {"enforced": {"lockAfterSeconds": 8}})
        self.assertTrue(any("was changed" in message for message in self.messages(client)))
        self.assertEqual(client.call("agent.status")["administrator"]["enforced"], ["lockAfterSeconds"])

    def test_directory_can_not_be_moved_by_the_environment(self):
        scene = self.laid({"enforced": {"lockAfterSeconds": 7}}, named=False)
        os.environ["LANYARD_SYSTEM_DIRECTORY"] = self.system
        self.addCleanup(os.environ.pop, "LANYARD_SYSTEM_DIRECTORY")
        scene.start()
        self.assertNotIn("administrator", self.client(scene).call("agent.status"))
        self.assertEqual(self.scene("--system-directory", "relative", start=False).run().returncode, USAGE)


@in_quick_form(
    "test_provider_is_there_from_the_first_start_and_goes_with_its_file",
    "test_person_can_neither_change_nor_remove_nor_replace_it")
class Providers(Administered):
    def test_provider_is_there_from_the_first_start_and_goes_with_its_file(self):
        provider = self.provider("--auto-approve", "alice")
        self.describe("corp", provider)
        scene = self.laid({})
        scene.start()
        client = self.client(scene)
        listed = client.call("provider.list")["providers"]
        self.assertEqual([(one["name"], one["source"]) for one in listed], [("corp", self.path("providers.d/corp.json"))])
        self.assertIn(self.path("providers.d/corp.json"), self.lanyard(scene, "provider", "show", "corp").stdout.decode())
        self.assertEqual(client.call("agent.status")["administrator"]["providers"], ["corp"])
        # While the agent runs, too.
        os.unlink(self.path("providers.d/corp.json"))
        self.until(lambda: client.call("provider.list")["providers"] == [], "the removal")
        self.describe("corp", provider)
        self.until(lambda: client.call("provider.list")["providers"], "the file that is back")
        os.unlink(self.path("providers.d/corp.json"))
        scene.end()
        scene.start()
        self.assertEqual(self.client(scene).call("provider.list")["providers"], [])

    def test_name_of_the_file_stands_for_a_missing_name(self):
        provider = self.provider()
        self.lay("providers.d/acme.json", {"issuer": provider.issuer, "clientId": "lanyard-demo"})
        scene = self.laid({})
        scene.start()
        self.assertEqual(self.client(scene).call("provider.get", {"provider": "acme"})["provider"]["issuer"], provider.issuer)

    def test_person_can_neither_change_nor_remove_nor_replace_it(self):
        provider = self.provider()
        self.describe("corp", provider)
        scene = self.laid({})
        scene.start()
        client = self.client(scene)
        for method, params in (
            ("provider.update", {"provider": "corp", "clientId": "other"}), ("provider.remove", {"provider": "corp"}),
            ("provider.add", {"name": "corp", "issuer": provider.issuer, "clientId": "other"}),
        ):
            with self.subTest(method):
                error = self.refused(NOT_PERMITTED, lambda: client.call(method, params))
                self.assertEqual(error.data["source"], self.path("providers.d/corp.json"))
                self.assertIn(self.path("providers.d/corp.json"), str(error))
        done = self.lanyard(scene, "provider", "remove", "corp")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(self.path("providers.d/corp.json"), done.stderr.decode())
        self.assertNotIn("grant", done.stderr.decode())

    def test_account_outlives_its_file_and_goes_on_when_it_is_back(self):
        provider = self.provider()
        self.describe("corp", provider)
        scene = self.laid({})
        scene.start()
        client = self.client(scene)
        account = self.sign_in(client, provider, "corp")
        token = client.call("token.get", {"account": account})["accessToken"]
        os.unlink(self.path("providers.d/corp.json"))
        self.until(lambda: client.call("provider.list")["providers"] == [], "the removal")
        exchanges = provider.asked()
        error = self.refused(PROVIDER_NOT_FOUND, lambda: client.call("provider.get", {"provider": "corp"}))
        self.assertIn(self.path("providers.d/corp.json"), str(error))
        with self.assertRaises(Exception) as caught:
            client.call("token.refresh", {"account": account})
        self.assertIn(self.path("providers.d/corp.json"), str(caught.exception))
        self.assertEqual([one["id"] for one in client.call("account.list")["accounts"]], [account])
        self.assertIn("problem", self.findings(client, "administratorFileGone"))
        self.assertTrue(any(self.path("providers.d/corp.json") in message for message in self.messages(client)))
        self.assertEqual(provider.asked(), exchanges)
        scene.kill()
        scene.start()
        client = self.client(scene)
        self.assertIn("problem", self.findings(client, "administratorFileGone"))
        self.describe("corp", provider)
        self.until(lambda: client.call("provider.list")["providers"], "the file that is back")
        self.assertTrue(client.call("token.refresh", {"account": account})["accessToken"])
        self.assertEqual(provider.ended(), {})
        self.assertTrue(token)

    def with_gone_file(self):
        """An account whose provider's file is gone: the provider, the scene, a client and the account."""
        provider = self.provider()
        self.describe("corp", provider)
        scene = self.laid({})
        scene.start()
        client = self.client(scene)
        account = self.sign_in(client, provider, "corp")
        os.unlink(self.path("providers.d/corp.json"))
        self.until(lambda: client.call("provider.list")["providers"] == [], "the removal")
        return provider, scene, client, account

    def test_sign_out_revokes_though_the_file_is_gone(self):
        provider, _, client, account = self.with_gone_file()
        client.call("account.signOut", {"account": account, "mode": "soft"})
        self.until(lambda: provider.ended(), "the revocation")

    def test_account_of_a_gone_file_is_signed_out_and_forgotten_as_advised(self):
        _, scene, client, account = self.with_gone_file()
        told = " ".join(self.lanyard(scene, "doctor").stdout.decode().split())
        for command in ("lanyard logout ACCOUNT", "lanyard forget ACCOUNT"):
            self.assertIn(f"`{command}`", told)
            done = self.lanyard(scene, *command.replace("ACCOUNT", account).split()[1:])
            self.assertEqual(done.returncode, 0, done)
        self.assertEqual(client.call("account.list")["accounts"], [])

    def test_bad_file_changes_nothing_and_the_others_count(self):
        provider = self.provider()
        self.describe("corp", provider)
        self.lay("providers.d/bad.json", {"issuer": provider.issuer, "clientId": "x", "scope": []})
        self.lay("providers.d/plain.json", {"issuer": "http://idp.example", "clientId": "x"})
        self.lay("providers.d/twice.json", {"name": "corp", "issuer": provider.issuer, "clientId": "y"})
        self.lay("providers.d/clientless.json", {"issuer": provider.issuer})
        self.lay("providers.d/notes.txt", "no document")
        self.lay("providers.d/.hidden.json", "no document")
        scene = self.laid({})
        scene.start()
        client = self.client(scene)
        self.assertEqual([one["name"] for one in client.call("provider.list")["providers"]], ["corp"])
        problems = client.call("agent.status")["administrator"]["problems"]
        self.assertEqual(
            [os.path.basename(problem.split(":")[0]) for problem in problems],
            ["bad.json", "clientless.json", "plain.json", "twice.json"], problems)
        self.assertEqual(self.findings(client, "administratorFiles"), ["problem"] * 4)
        self.assertNotEqual(self.lanyard(scene, "doctor").returncode, 0)
        # A file that was good stays in force, also over a restart.
        os.unlink(self.path("providers.d/twice.json"))
        self.lay("providers.d/corp.json", "{")
        self.until(lambda: self.path("providers.d/corp.json") in str(client.call("agent.status")), "the bad file")
        self.assertEqual([one["name"] for one in client.call("provider.list")["providers"]], ["corp"])
        scene.end()
        scene.start()
        client = self.client(scene)
        self.assertEqual([one["name"] for one in client.call("provider.list")["providers"]], ["corp"])
        self.assertIn(self.path("providers.d/corp.json") + ":1:2: ", self.log(scene))

    def test_log_has_a_line_a_problem_and_few_of_them(self):
        scene = self.laid({})
        os.makedirs(self.path("providers.d"))
        for name in [f"{number:03}" for number in range(100)] + ["a\nb", "\x1b[31m"]:
            with open(self.path("providers.d") + f"/{name}.json", "w") as file:
                file.write("{")
        scene.start()
        self.client(scene).call("agent.status")
        self.assertEqual(len([line for line in self.log(scene).splitlines() if "providers.d" in line]), 20)
        self.assertIn("82 more problems of the administrator's files", self.log(scene))
        for name in os.listdir(self.path("providers.d")):
            if name[0] in "0123456789":
                os.unlink(self.path("providers.d/" + name))
        self.lay("providers.d/z.json", "{")
        self.until(lambda: "z.json" in str(self.client(scene).call("agent.status")), "the new file")
        self.assertNotIn("\x1b", self.log(scene))

    def test_unreadable_folder_is_told_and_what_it_held_stays(self):
        provider = self.provider()
        self.describe("corp", provider)
        scene = self.laid({})
        scene.start()
        client = self.client(scene)
        os.chmod(self.path("providers.d"), 0o777)
        self.until(lambda: client.call("agent.status")["administrator"]["problems"], "the problem")
        self.assertEqual([one["name"] for one in client.call("provider.list")["providers"]], ["corp"])

    def test_file_stands_before_a_provider_of_the_person_and_gives_it_back(self):
        provider = self.provider()
        scene = self.laid({})
        scene.start()
        client = self.client(scene)
        client.call("provider.add", {"name": "corp", "issuer": provider.issuer, "clientId": "lanyard-demo", "scopes": ["openid"]})
        account = self.sign_in(client, provider, "corp")
        self.describe("corp", provider)
        got = self.until(lambda: self.source(client, "corp"), "the file")
        self.assertEqual(got, self.path("providers.d/corp.json"))
        self.assertTrue(client.call("token.get", {"account": account, "minimumLifetimeSeconds": 1})["accessToken"])
        os.unlink(self.path("providers.d/corp.json"))
        self.until(lambda: self.source(client, "corp") is None, "the person's own")
        self.assertEqual(client.call("provider.get", {"provider": "corp"})["provider"]["scopes"], ["openid"])
        self.assertTrue(client.call("token.get", {"account": account})["accessToken"])

    def test_provider_of_another_issuer_with_accounts_is_a_conflict(self):
        provider, other = self.provider(), self.provider()
        scene = self.laid({})
        scene.start()
        client = self.client(scene)
        client.call("provider.add", {"name": "corp", "issuer": other.issuer, "clientId": "lanyard-demo"})
        self.sign_in(client, other, "corp")
        self.describe("corp", provider)
        self.until(lambda: client.call("agent.status").get("administrator", {}).get("problems"), "the conflict")
        self.assertEqual(client.call("provider.get", {"provider": "corp"})["provider"]["issuer"], other.issuer)
        self.assertTrue(any("of another issuer" in message for message in self.messages(client)))
        # Without its accounts the file counts at once, and the name is free for no other.
        self.forget(client)
        self.refused(NOT_PERMITTED, lambda: client.call(
            "provider.update", {"provider": "corp", "scopes": ["openid"]}))
        self.assertEqual(client.call("provider.get", {"provider": "corp"})["provider"]["issuer"], provider.issuer)
        self.assertEqual(client.call("agent.status")["administrator"]["problems"], [])

    def test_sign_in_that_outlives_its_file_makes_no_account_and_leaves_no_token(self):
        provider, other = self.provider(), self.provider()
        for change in (lambda: os.unlink(self.path("providers.d/corp.json")), lambda: self.describe("corp", other)):
            scene = self.laid({})
            self.describe("corp", provider)
            scene.start()
            client = self.client(scene)
            begun = client.call("signIn.begin", {"provider": "corp", "flow": "browser", "openBrowser": False})
            change()
            client.call("provider.list")
            with contextlib.suppress(urllib.error.HTTPError):
                browse(begun["authorizationUrl"], {"login_hint": "alice"})
            with self.assertRaises(LanyardError):
                client.call("signIn.wait", {"signIn": begun["signIn"], "timeoutSeconds": 10})
            self.assertEqual(client.call("account.list")["accounts"], [])
            self.until(lambda: not client.call("revocation.list")["revocations"], "the revocation")
            self.assertEqual([grant["ended"] for grant in provider.get("grants")["grants"] if not grant["ended"]], [])
            self.assertEqual(other.asked(), 0)
            scene.end()

    def test_provider_whose_file_is_gone_ends_with_its_last_account(self):
        provider = self.provider()
        self.describe("corp", provider)
        scene = self.laid({})
        scene.start()
        client = self.client(scene)
        self.sign_in(client, provider, "corp")
        os.unlink(self.path("providers.d/corp.json"))
        self.assertEqual(self.findings(client, "administratorFileGone"), ["problem"])
        self.forget(client)
        client.call("provider.add", {"name": "corp", "issuer": provider.issuer, "clientId": "lanyard-demo"})
        self.assertEqual(self.findings(client, "administratorFileGone"), [])

    def forget(self, client):
        """Signs the one account out, and removes it."""
        account = client.call("account.list")["accounts"][0]["id"]
        client.call("account.signOut", {"account": account, "mode": "hard"})
        client.call("account.forget", {"account": account})

    def test_locked_vault_takes_the_files_when_it_is_unlocked(self):
        provider = self.provider()
        secret = self.path("../passphrase")
        self.write(secret, "correct horse battery\n", mode=0o600)
        scene = self.laid({}, "--protection", "passphrase", "--passphrase-file", secret)
        scene.start()
        client = self.client(scene)
        client.call("agent.lock")
        self.describe("corp", provider)
        self.until(lambda: client.call("agent.status").get("administrator", {}).get("providers") == ["corp"], "the file")
        client.call("agent.unlock", {"passphrase": "correct horse battery"})
        self.assertEqual([one["name"] for one in client.call("provider.list")["providers"]], ["corp"])


@in_quick_form(
    "test_policy_stands_before_the_persons_and_goes_with_its_file",
    "test_bad_policy_is_told_with_its_place_and_the_last_good_one_stays",
    "test_files_that_are_not_known_do_not_leave_decisions_to_the_persons")
class Policies(Administered):
    def can(self, client, account, capability):
        return client.call("authorization.check", {"account": account, "capability": capability})["reason"]

    def test_policy_stands_before_the_persons_and_goes_with_its_file(self):
        provider = self.provider()
        self.describe("corp", provider)
        self.lay("policies.d/default.json", policy("default", 3, "see"))
        scene = self.laid({})
        scene.start()
        client = self.client(scene)
        account = self.sign_in(client, provider, "corp")
        path = self.path("policies.d/default.json")
        self.assertEqual(client.call("policy.list")["policies"], [{"name": "default", "version": 3, "source": path}])
        self.assertEqual(client.call("policy.get", {"name": "default"})["source"], path)
        self.assertIn(path, self.lanyard(scene, "policy", "list").stdout.decode())
        self.assertEqual(self.can(client, account, "see"), "allowed")
        error = self.refused(
            NOT_PERMITTED, lambda: client.call("policy.set", {"name": "default", "policy": policy("default", 9, "all")}))
        self.assertEqual(error.data["source"], path)
        self.lay("policies.d/default.json", policy("default", 2, "touch"))
        self.until(lambda: self.can(client, account, "see") == "unknownCapability", "the new policy")
        self.assertEqual(self.can(client, account, "touch"), "allowed")
        os.unlink(path)
        self.until(lambda: client.call("policy.list")["policies"] == [], "the removal")
        self.assertEqual(self.can(client, account, "touch"), "unknownCapability")
        client.call("policy.set", {"name": "default", "policy": policy("default", 1, "all")})
        self.assertEqual(self.can(client, account, "all"), "allowed")

    def test_change_counts_without_a_question_about_it(self):
        provider = self.provider()
        self.describe("corp", provider)
        self.lay("policies.d/default.json", policy("default", 1, "see"))
        scene = self.laid({})
        scene.start()
        client = self.client(scene)
        account = self.sign_in(client, provider, "corp")
        self.assertEqual(self.can(client, account, "see"), "allowed")
        os.unlink(self.path("policies.d/default.json"))
        self.until(lambda: self.can(client, account, "see") != "allowed", "the removal")

    def test_provider_may_name_a_policy_of_the_administrator(self):
        provider = self.provider()
        self.describe("corp", provider, policy="field")
        self.lay("policies.d/10-field.json", policy("field", 1, "see"))
        scene = self.laid({})
        scene.start()
        client = self.client(scene)
        account = self.sign_in(client, provider, "corp")
        self.assertEqual(self.can(client, account, "see"), "allowed")
        os.unlink(self.path("policies.d/10-field.json"))
        self.until(lambda: client.call("policy.list")["policies"] == [], "the removal")
        self.assertEqual(self.can(client, account, "see"), "policyError")

    def test_bad_policy_is_told_with_its_place_and_the_last_good_one_stays(self):
        provider = self.provider()
        self.describe("corp", provider)
        self.lay("policies.d/default.json", policy("default", 1, "see"))
        self.lay("policies.d/other.json", policy("other", 1, "see"))
        scene = self.laid({})
        scene.start()
        client = self.client(scene)
        account = self.sign_in(client, provider, "corp")
        self.lay("policies.d/default.json", '{\n  "name": "default",\n  "version": 0,\n  "capabilities": {}}')
        problem = self.until(lambda: client.call("agent.status")["administrator"]["problems"], "the problem")
        self.assertIn(self.path("policies.d/default.json") + ":3:14: ", problem[0])
        self.assertEqual(self.can(client, account, "see"), "allowed")
        self.assertEqual([one["name"] for one in client.call("policy.list")["policies"]], ["default", "other"])


    def test_bad_policy_at_a_start_does_not_leave_decisions_to_the_persons(self):
        def policy(version, *capabilities):
            window = {"kind": "read", "offlineWindowSeconds": 86_400}
            return {"name": "default", "version": version, "capabilities": {word: window for word in capabilities}}

        provider = self.provider()
        self.describe("acme", provider)
        self.lay("policies.d/10-base.json", policy(1, "view"))
        scene = self.laid({})
        scene.start()
        client = self.client(scene)
        account = self.sign_in(client, provider, "acme")

        def decided(client, capability):
            decision = client.call("authorization.check", {"account": account, "capability": capability})
            return decision["effect"], decision["reason"]

        self.assertEqual(decided(client, "view"), ("allow", "allowed"))
        self.lay("policies.d/10-base.json", '{"name": "default"')
        scene.end()
        scene.start()
        client = self.client(scene)
        self.assertEqual(decided(client, "view"), ("allow", "allowed"))
        self.assertEqual(client.call("policy.get", {"name": "default"})["source"], self.path("policies.d/10-base.json"))
        self.assertTrue(any("10-base.json:1:19: " in message for message in self.messages(client)), self.messages(client))
        # Gone with its file, although that is bad.
        os.unlink(self.path("policies.d/10-base.json"))
        scene.end()
        scene.start()
        client = self.client(scene)
        client.call("policy.set", {"name": "default", "policy": policy(1, "view", "all")})
        self.assertEqual(decided(client, "all"), ("allow", "allowed"))
        # One that was never good denies, under the name that it gives itself or the file's.
        for name, text in (("20.json", {"name": "default", "version": 0}), ("default.json", "{")):
            with self.subTest(name):
                self.lay(f"policies.d/{name}", text)
                self.assertEqual(decided(client, "all"), ("deny", "policyError"))
                scene.end()
                scene.start()
                client = self.client(scene)
                self.assertEqual(decided(client, "all"), ("deny", "policyError"))
                self.refused(NOT_PERMITTED, lambda: client.call(
                    "policy.set", {"name": "default", "policy": policy(2, "all")}))
                os.unlink(self.path(f"policies.d/{name}"))
                self.assertEqual(decided(client, "all"), ("allow", "allowed"))


    def test_files_that_are_not_known_do_not_leave_decisions_to_the_persons(self):
        provider = self.provider()
        self.describe("corp", provider)
        scene = self.laid({})
        scene.start()
        client = self.client(scene)
        account = self.sign_in(client, provider, "corp")
        client.call("policy.set", {"name": "default", "policy": policy("default", 1, "all")})
        self.assertEqual(self.can(client, account, "all"), "allowed")
        folder, elsewhere = self.path("policies.d"), self.path("elsewhere")
        os.mkdir(elsewhere, 0o755)

        def open_to_others():
            os.mkdir(folder)
            os.chmod(folder, 0o777)

        ways = {
            "open to others": open_to_others, "a link": lambda: os.symlink(elsewhere, folder),
            "a file": lambda: self.write(folder, "{}"),
            "a file without a name that can be read": lambda: self.lay("policies.d/10-base.json", '{"name": 7'),
            "a file that is a link": lambda: (os.mkdir(folder, 0o755), os.symlink("/dev/null", folder + "/10-base.json"))}
        for name, lay in ways.items():
            with self.subTest(name):
                lay()
                self.until(lambda: self.can(client, account, "all") == "policyError", "the refusal")
                self.assertTrue(any(folder in message for message in self.messages(client)), self.messages(client))
                scene.end()
                scene.start()
                client = self.client(scene)
                self.assertEqual(self.can(client, account, "all"), "policyError")
                shutil.rmtree(folder) if os.path.isdir(folder) and not os.path.islink(folder) else os.unlink(folder)
                self.until(lambda: self.can(client, account, "all") == "allowed", "the person's policy")
        # What another file describes decides as before.
        self.lay("policies.d/10-base.json", "{")
        self.until(lambda: self.can(client, account, "all") == "policyError", "the refusal")
        self.lay("policies.d/default.json", policy("default", 2, "all"))
        self.until(lambda: self.can(client, account, "all") == "allowed", "the administrator's policy")


@in_quick_form("test_backup_holds_no_policy_of_the_administrator_and_its_accounts_wait_for_the_file")
class Backups(Administered):
    def test_backup_holds_no_policy_of_the_administrator_and_its_accounts_wait_for_the_file(self):
        provider = self.provider()
        self.describe("corp", provider)
        self.lay("policies.d/default.json", policy("default", 1, "see"))
        scene = self.laid({})
        scene.start()
        client = self.client(scene)
        self.sign_in(client, provider, "corp")
        file = os.path.join(self.directory(), "backup")
        made = client.call("agent.backup", {"path": file, "passphrase": "correct horse battery"})
        self.assertEqual((made["accounts"], made["policies"]), (1, 0))
        bare = self.scene()
        other = self.client(bare)
        restored = other.call("agent.restore", {"path": file, "passphrase": "correct horse battery"})
        self.assertEqual(len(restored["accounts"]), 1)
        self.assertEqual(other.call("provider.list")["providers"], [])
        self.assertIn("problem", self.findings(other, "administratorFileGone"))


if __name__ == "__main__":
    unittest.main()
