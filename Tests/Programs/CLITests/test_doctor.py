"""doctor: what is wrong is found, said with what can be done, and nothing is changed by looking."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

from people import AGENT
from person import PATIENCE_SECONDS, Person
from test_real import MISSING, RealProvider

PROBLEM, NOTICE, OK = "problem", "notice", "ok"


class Doctor:
    """The steps of the tests of `lanyard doctor`."""

    def doctor(self, code, *words):
        done = self.lanyard("doctor", "--json", *words)
        self.assertEqual((done.returncode, done.stderr), (code, ""), done)
        told = json.loads(done.stdout)
        self.assertEqual(told["ok"], code == 0)
        self.assertEqual(code != 0, PROBLEM in [finding["severity"] for finding in told["findings"]])
        return told["findings"]

    def one(self, findings, check, severity):
        found = [finding for finding in findings if (finding["check"], finding["severity"]) == (check, severity)]
        self.assertEqual(len(found), 1, findings)
        if severity == PROBLEM:
            self.assertTrue(found[0]["remedies"], found)
        return found[0]

    def problems(self, findings):
        return [finding["check"] for finding in findings if finding["severity"] == PROBLEM]


@unittest.skipIf(MISSING, f"not built: {', '.join(MISSING)}")
class RealDoctorTests(Doctor, RealProvider):
    def setUp(self):
        super().setUp()
        self.state = os.path.join(self.home, ".local", "state", "lanyard")
        self.database = os.path.join(self.state, "lanyard.sqlite")
        self.answer("provider", "add", "idp", "--issuer", self.issuer, "--client-id", "lanyard-demo", "-s", "openid",
                    "-s", "offline_access")
        self.sign_in("alice", "--alias", "work")

    def stop(self):
        self.answer("rpc", "agent.shutdown")
        self.until_released()

    def until_released(self):
        """The agent answers before it has ended."""
        check = [os.path.join(self.programs, "lanyard-agent"), "--check"]
        for _ in range(500):
            if subprocess.run(check, env=self.settings(None), capture_output=True).returncode != 75:
                return
        self.fail("the agent does not end")

    def kill(self):
        with open(os.path.join(self.state, "lock")) as lock:
            os.kill(int(lock.readline()), signal.SIGKILL)
        self.until_released()

    def change(self, sql, *values):
        """Changes the store as an attacker would who can write the file, but has no key."""
        with sqlite3.connect(self.database) as store:
            changed = store.execute(sql, values).rowcount
        store.close()
        self.assertGreater(changed, 0, sql)

    def contents(self):
        files = {}
        for top in (self.home, self.runtime):
            for place, _, names in os.walk(top):
                for name in names:
                    path = os.path.join(place, name)
                    if name != "lock" and not os.path.islink(path) and os.path.isfile(path):
                        with open(path, "rb") as file:
                            files[path] = (file.read(), os.stat(path).st_mode)
        return files

    # All is well

    def test_a_sound_installation_with_and_without_an_agent(self):
        findings = self.doctor(0)
        for check in ("agent", "vault", "anchor", "store", "accountRecords", "auditLog", "clock", "stateFiles",
                      "socketDirectory", "diskSpace", "anchorFiles", "libraries"):
            self.one(findings, check, OK)
        self.assertIn("not against programs that can read", self.one(findings, "protection", NOTICE)["message"])
        screen = self.on_terminal("doctor")
        self.assertEqual(screen.code, 0)
        self.assertIn("All is well", screen.text)

        self.stop()
        before = self.contents()
        findings = self.doctor(0)
        self.one(findings, "agent", NOTICE)
        for check in ("vault", "anchor", "store", "accountRecords", "auditLog", "clock", "stateFiles"):
            self.one(findings, check, OK)
        self.assertEqual(self.contents(), before)
        # It started none.
        self.assertIn("No agent runs", self.answer("doctor"))

    def test_doctor_before_the_first_start(self):
        self.stop()
        for name in (".local", ".config"):
            shutil.rmtree(os.path.join(self.home, name))
        findings = self.doctor(0)
        self.one(findings, "vault", NOTICE)
        self.one(findings, "stateDirectory", NOTICE)
        self.assertFalse(os.path.exists(self.state))

    # Files

    def test_files_that_others_may_touch(self):
        for path, mode, check in [
            (os.path.join(self.state, "key"), 0o644, "stateFiles"),
            (self.database, 0o660, "stateFiles"),
            (self.state, 0o755, "stateDirectory"),
            (os.path.join(self.runtime, "lanyard"), 0o711, "socketDirectory"),
            (os.path.join(self.home, ".config", "lanyard", "anchors"), 0o750, "anchorFiles"),
        ]:
            with self.subTest(path):
                before = os.stat(path).st_mode
                os.chmod(path, mode)
                found = self.one(self.doctor(1), check, PROBLEM)
                self.assertEqual(found["subject"], path)
                self.assertIn("chmod", found["remedies"][0])
                os.chmod(path, before)
                self.doctor(0)

    def test_file_modes_are_checked_without_an_agent(self):
        self.stop()
        os.chmod(self.state, 0o755)
        self.assertEqual(sorted(self.problems(self.doctor(1))), ["agent", "stateDirectory"])
        os.chmod(self.state, 0o700)
        os.chmod(os.path.join(self.state, "key"), 0o644)
        self.assertEqual(sorted(self.problems(self.doctor(1))), ["stateFiles", "vault"])

    def test_a_symlinked_state_directory(self):
        self.stop()
        elsewhere = os.path.join(self.place, "elsewhere")
        os.rename(self.state, elsewhere)
        os.symlink(elsewhere, self.state)
        self.assertIn("symbolic link", self.one(self.doctor(1), "stateDirectory", PROBLEM)["message"])

    @unittest.skipUnless(os.geteuid() == 0, "only root gives files away")
    def test_files_of_another_user(self):
        path = os.path.join(self.state, "key")
        os.chown(path, 65534, 65534)
        self.assertIn("another user", self.one(self.doctor(1), "stateFiles", PROBLEM)["message"])

    def test_leftovers_are_notices(self):
        self.kill()
        left = os.path.join(self.state, "lanyard.sqlite-draft")
        with open(left, "w") as file:
            file.write("x")
        os.chmod(left, 0o600)
        findings = self.doctor(0)
        self.one(findings, "socket", NOTICE)
        # The look itself has made away with it already, as a start does.
        self.assertFalse(os.path.exists(left))
        self.answer("status")
        self.assertNotIn("socket", [finding["check"] for finding in self.doctor(0)])

    def test_a_file_at_the_path_of_the_socket(self):
        self.stop()
        with open(self.socket, "w") as file:
            file.write("mine")
        self.one(self.doctor(1), "socket", PROBLEM)

    def test_an_agent_that_listens_elsewhere(self):
        self.stop()
        agent = subprocess.Popen(
            [os.path.join(self.programs, "lanyard-agent"), "--socket", os.path.join(self.runtime, "lanyard", "other")],
            env=self.settings(None), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        while not os.path.exists(os.path.join(self.runtime, "lanyard", "other")):
            pass
        found = self.one(self.doctor(1), "agent", PROBLEM)
        self.assertIn(str(agent.pid), found["message"])

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount a small disk")
    def test_a_disk_that_fills_up(self):
        self.stop()
        kept = os.path.join(self.place, "kept")
        os.rename(self.state, kept)
        os.mkdir(self.state, 0o700)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m,mode=0700", "lanyard-test", self.state]).returncode:
            self.skipTest("no file system can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.state])
        for name in os.listdir(kept):
            shutil.copy2(os.path.join(kept, name), self.state)
        self.assertIn("MiB are free", self.one(self.doctor(0), "diskSpace", NOTICE)["message"])
        with open(os.path.join(self.state, "filler"), "wb") as file:
            file.write(b"x" * (30 << 20))
        os.chmod(os.path.join(self.state, "filler"), 0o600)
        self.one(self.doctor(1), "diskSpace", PROBLEM)

    # The vault

    def test_a_key_file_that_is_gone(self):
        self.stop()
        os.rename(os.path.join(self.state, "key"), os.path.join(self.place, "key"))
        self.assertIn("key file", self.one(self.doctor(1), "vault", PROBLEM)["message"])

    def test_a_locked_vault(self):
        self.stop()
        shutil.rmtree(self.state)
        path = os.path.join(self.place, "passphrase")
        with open(path, "w") as file:
            file.write("not-a-real-passphrase")
        os.chmod(path, 0o600)
        agent = subprocess.Popen(
            [os.path.join(self.programs, "lanyard-agent"), "--new-store", "--protection", "passphrase",
             "--passphrase-file", path],
            env=self.settings(None), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        while self.lanyard("status", "--no-start").returncode == 3:
            self.assertIsNone(agent.poll(), "the agent ended")
        self.one(self.doctor(0), "protection", OK)
        self.answer("lock")
        self.assertIn("locked", self.one(self.doctor(0), "vault", NOTICE)["message"])
        told = self.answer("doctor")
        self.assertRegex(told, r"\nNo problem was found in what could be checked, \d+ notices?\.\n")
        self.assertNotIn("All is well", told)
        agent.kill()
        agent.wait()
        self.until_released()
        self.assertIn("locked", self.one(self.doctor(0), "vault", NOTICE)["message"])

    def test_an_old_copy_of_the_store(self):
        self.stop()
        old = os.path.join(self.place, "old")
        shutil.copytree(self.state, old)
        self.sign_in("bob", "--alias", "home")
        self.stop()
        shutil.rmtree(self.state)
        shutil.copytree(old, self.state)
        os.chmod(self.state, 0o700)
        found = self.one(self.doctor(1), "vault", PROBLEM)
        self.assertIn("old copy", found["message"])
        self.assertIn("--accept-old-store", " ".join(found["remedies"]))
        # The offered remedy works.
        self.run_once("--accept-old-store")
        self.doctor(0)

    def test_a_store_of_another_vault(self):
        self.stop()
        old = os.path.join(self.place, "old")
        os.rename(self.state, old)
        self.run_once("--new-store")
        self.until_released()
        shutil.rmtree(self.state)
        shutil.copytree(old, self.state)
        os.chmod(self.state, 0o700)
        found = self.one(self.doctor(1), "vault", PROBLEM)
        self.assertIn("not the one that belongs here", found["message"])
        self.assertIn("--new-store", " ".join(found["remedies"]))
        self.assertIn("--accept-old-store", " ".join(found["remedies"]))
        self.assertEqual(self.lanyard("list").returncode, 3)
        # The offered remedy works.
        self.run_once("--accept-old-store")
        self.doctor(0)
        self.assertEqual(json.loads(self.answer("list", "--json"))["accounts"][0]["state"], "active")

    def run_once(self, option):
        """An agent with an option, until it serves."""
        agent = subprocess.Popen(
            [os.path.join(self.programs, "lanyard-agent"), option], env=self.settings(None), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        while self.lanyard("status", "--no-start").returncode == 3:
            self.assertIsNone(agent.poll(), "the agent ended")
        agent.terminate()
        agent.wait()

    def test_an_account_that_was_tampered_with(self):
        account = json.loads(self.answer("list", "--json"))["accounts"][0]["id"]
        self.stop()
        self.change("UPDATE record SET sealed = zeroblob(length(sealed)) WHERE kind = 4")
        for _ in range(2):
            found = self.one(self.doctor(1), "accountRecords", PROBLEM)
            self.assertEqual((found["account"], found["subject"]), (account, "work"))
            self.assertIn("lanyard login --account work", found["remedies"][0])
            self.answer("status", "--json")  # once without an agent, once with one
        self.sign_in("alice", "--account", "work")
        self.doctor(0)

    def test_a_provider_that_was_tampered_with(self):
        self.stop()
        self.change("UPDATE record SET sealed = zeroblob(length(sealed)) WHERE kind = 16")
        self.assertIn("lanyard provider add", self.one(self.doctor(1), "providers", PROBLEM)["remedies"][0])

    def test_an_audit_log_that_was_tampered_with(self):
        self.stop()
        self.change("DELETE FROM audit WHERE sequence = 1")
        self.assertIn("from entry 1 on", self.one(self.doctor(1), "auditLog", PROBLEM)["message"])

    def test_a_database_that_is_damaged(self):
        self.stop()
        with open(self.database, "r+b") as file:
            file.seek(100)
            file.write(b"\xff" * 3_000)
        found = self.one(self.doctor(1), "store", PROBLEM)
        self.assertIn("damaged", found["message"])
        for words in [found["message"], *found["remedies"]]:
            self.assertNotIn("lanyard doctor", words)
            self.assertNotIn("missing", words)
        with open(self.database, "wb") as file:
            file.write(b"something else")
        os.chmod(self.database, 0o600)
        self.one(self.doctor(1), "store", PROBLEM)

    def test_online_asks_the_providers(self):
        self.assertIn("idp", self.one(self.doctor(0, "--online"), "providerReach", OK)["message"])
        self.provider.terminate()
        self.provider.wait()
        self.assertNotIn("providerReach", [finding["check"] for finding in self.doctor(0)])
        found = self.one(self.doctor(1, "--online"), "providerReach", PROBLEM)
        self.assertEqual(found["subject"], "idp")

    # Accounts

    def session(self, code, severity):
        found = self.one(self.doctor(code), "session", severity)
        self.assertEqual(found["subject"], "work")
        return found

    def test_a_provider_that_was_asked_in_vain(self):
        self.provider.terminate()
        self.provider.wait()
        self.refused(5, "token", "work", "--force")
        found = self.session(0, NOTICE)
        self.assertEqual(found["message"], "The last request to the provider idp failed: it can't be reached. "
                         "The token that is there is served until it expires.")
        self.assertIn("`lanyard provider test idp`", found["remedies"][0])
        self.answer("token", "work")
        # What is in memory is gone after a lock.
        self.answer("lock")
        self.answer("unlock")
        self.refused(5, "token", "work")
        self.assertIn("There is no token until another one succeeds", self.session(1, PROBLEM)["message"])

    def test_a_page_of_the_network_that_came_instead_of_the_provider(self):
        self.post("/practice/faults", path="/token", effect="notJSON", count=100)
        self.refused(5, "token", "work", "--force")
        found = self.session(0, NOTICE)
        self.assertIn("a page came instead of its answer", found["message"])
        self.assertIn("open any page in a browser", found["remedies"][0])
        self.post("/practice/reset")
        self.sign_in("alice", "--account", "work")
        self.assertNotIn("session", [finding["check"] for finding in self.doctor(0)])

    def test_an_account_that_the_provider_disabled(self):
        self.post("/practice/users", user="alice", disabled=True)
        told = self.refused(1, "token", "work", "--force")
        self.assertIn("disabled", told)
        found = self.session(1, PROBLEM)
        again = "Once it is enabled again: `lanyard login --account work`, or wait 15 minutes."
        self.assertEqual(found["remedies"], ["Ask the administrator of the provider.", again])
        self.assertIn(again, told)
        self.assertIn(again, self.answer("status"))
        # The remedy works.
        self.post("/practice/users", user="alice", disabled=False)
        self.sign_in("alice", "--account", "work")
        self.answer("token", "work")
        self.doctor(0)

    def test_a_token_that_waits_to_be_revoked(self):
        self.answer("logout", "work", "--offline")
        self.one(self.doctor(0), "revocations", NOTICE)


@unittest.skipIf(MISSING, f"not built: {', '.join(MISSING)}")
class StoppedDoctorTests(Doctor, Person):
    """A machine on which no agent runs, and none may be able to."""

    def setUp(self):
        super().setUp()
        self.environment.pop("LANYARD_NO_START")

    def test_no_other_mode_is_advised_for_a_directory_of_the_system(self):
        for socket in ("/tmp/lanyard-test-agent.sock", "/etc/passwd", "/etc/passwd/agent.sock"):
            with self.subTest(socket):
                self.environment["LANYARD_SOCKET"] = socket
                found = self.one(self.doctor(1), "socketDirectory", PROBLEM)
                self.assertEqual(found["remedies"], ["Choose a directory of your own by LANYARD_SOCKET."])

    def test_the_mode_of_a_directory_of_the_person_is_advised_and_helps(self):
        for state in (os.path.join(self.home, "it's; touch pwn"), os.path.join(self.place, "elsewhere", "lanyard")):
            with self.subTest(state):
                os.makedirs(state, mode=0o755)
                os.chmod(state, 0o755)
                self.environment["LANYARD_STATE_DIR"] = state
                self.follow(self.one(self.doctor(1), "stateDirectory", PROBLEM))
                self.assertEqual(os.stat(state).st_mode & 0o777, 0o700)

    def test_the_mode_of_a_file_is_advised_for_the_shell_and_helps(self):
        state = os.path.join(self.home, ".local", "state", "lanyard")
        os.makedirs(state, mode=0o700)
        path = os.path.join(state, "$(touch pwn) `; touch pwn")
        open(path, "w").close()
        os.chmod(path, 0o644)
        found = self.one(self.doctor(1), "stateFiles", PROBLEM)
        self.assertEqual(found["subject"], path)
        self.follow(found)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)

    def follow(self, found):
        """Types the command of the remedy into a shell."""
        command = re.fullmatch("`(chmod .*)`", found["remedies"][0]).group(1)
        subprocess.run(["sh", "-c", command], cwd=self.work, check=True)
        self.assertEqual(os.listdir(self.work), [])

    def test_a_mistake_in_the_configuration_file_is_told_with_its_place(self):
        path = os.path.join(self.home, ".config", "lanyard", "agent.json")
        os.makedirs(os.path.dirname(path), mode=0o700)
        for text in ('{"lockAfterSecond":900}', '{"lockAfterSeconds":900,}'):
            with self.subTest(text):
                with open(path, "w") as file:
                    file.write(text)
                findings = self.doctor(1)
                found = self.one(findings, "agent", PROBLEM)
                self.assertIn(f"The agent can't start. {path}:1:", found["message"])
                self.assertIn("Correct the configuration file", found["remedies"][0])
                self.assertNotIn("version", found["message"])

    def test_an_environment_without_a_place_for_the_state_is_told(self):
        for name, value in (("HOME", None), ("HOME", ""), ("HOME", "relative"), ("LANYARD_STATE_DIR", "relative")):
            with self.subTest(name + repr(value)):
                self.environment[name] = value
                findings = self.doctor(1)
                for check in ("agent", "stateDirectory"):
                    found = self.one(findings, check, PROBLEM)
                    self.assertIn(name, found["message"])
                    self.assertEqual(found["remedies"], ["Set HOME or LANYARD_STATE_DIR to an absolute path."])
                self.refused(3, "status")
                self.assertEqual(os.listdir(self.work), [])

    def test_what_hinders_the_start_of_an_agent_is_a_problem(self):
        for name, value in (("XDG_RUNTIME_DIR", "/nonexistent/run"), ("LANYARD_SOCKET", f"{self.runtime}/{'s' * 108}")):
            with self.subTest(name):
                environment = {name: value}
                told = self.refused(3, "status", environment=environment)
                done = self.lanyard("doctor", "--json", environment=environment)
                self.assertEqual(done.returncode, 1, done)
                findings = json.loads(done.stdout)["findings"]
                found = self.one(findings, "socketDirectory", PROBLEM)
                for words in [found["message"], *found["remedies"]]:
                    self.assertIn(words, told)
                self.assertEqual(self.one(findings, "agent", NOTICE)["remedies"], [])

    def test_a_state_directory_that_can_not_be_made_is_a_problem(self):
        self.environment["HOME"] = "/proc"
        self.one(self.doctor(1), "stateDirectory", PROBLEM)


class ToldDoctorTests(Doctor, Person):
    """Answers of agents of other versions."""

    def setUp(self):
        super().setUp()
        for path in (os.path.join(self.home, ".local", "state", "lanyard"), os.path.join(self.runtime, "lanyard")):
            os.makedirs(path, mode=0o700, exist_ok=True)

    def test_findings_keep_the_agents_order(self):
        self.agent({"agent.status": AGENT, "agent.diagnose": {"findings": [
            {"check": "accountRecords", "severity": "problem", "subject": "work", "message": "It does\u001b[31m not open.",
             "remedies": ["Sign in again."]},
            {"check": "future", "severity": "unheardOf", "message": "New.", "remedies": []},
        ]}})
        done = self.lanyard("doctor")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertNotIn("\u001b", done.stdout)
        self.assertIn("problem  work: It does", done.stdout)
        self.assertIn("- Sign in again.", done.stdout)
        self.assertIn("1 problem", done.stdout)
        self.assertIn("notice   New.", done.stdout)

    def test_an_agent_of_another_version(self):
        self.agent({"agent.status": {**AGENT, "version": "0.1.0"}, "agent.diagnose": {"findings": []}})
        self.assertIn("0.1.0", self.one(self.doctor(0), "agent", NOTICE)["message"])

    def test_an_agent_that_does_not_answer(self):
        self.agent({"agent.status": lambda params, connection: time.sleep(PATIENCE_SECONDS)})
        found = self.one(self.doctor(1), "agent", PROBLEM)
        self.assertIn("does not answer", found["message"])
        self.assertEqual(found["remedies"], ["Wait, or end it: `lanyard stop`."])

    def test_an_agent_without_agent_diagnose(self):
        self.agent({"agent.status": AGENT})
        self.assertIn("does not know this command", self.one(self.doctor(1), "agent", PROBLEM)["message"])
