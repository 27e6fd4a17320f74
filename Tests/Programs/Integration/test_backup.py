"""Backup and restore with the real programs: what is restored, what the file reveals, and interruptions."""

import os
import signal
import sqlite3
import stat
import subprocess
import threading
import unittest

from deaths import Deaths, Faulty, Point, Sampled, is_sound, kills
from agent_fixture import BIN, PATIENCE_SECONDS, LanyardError, add_provider, import_account, sign_in

PASSPHRASE = "not-a-real-passphrase-of-a-backup"
INVALID, INTEGRITY, UNLOCK_FAILED, UNAVAILABLE = -32602, 5002, 1008, 5001
DATA_LOCKED, SIGNED_OUT = 2008, 2003
CLIENT_SECRET = "practice-secret"
CANARY = "canary-of-alice-in-a-client-program"


def backup(client, path, **members):
    return client.call("agent.backup", {"path": path, "passphrase": PASSPHRASE, **members})


def restore(client, path, passphrase=PASSPHRASE):
    return client.call("agent.restore", {"path": path, "passphrase": passphrase})


def own_files(scene):
    """The temporary files of a backup beside the store: none, once it is over."""
    return sorted(
        name for name in os.listdir(scene.state) if any(part in name for part in ("-copy", "-draft", "-fetched")))


class BackupTests(Sampled):
    def setUp(self):
        super().setUp()
        self.practice = self.provider()
        self.agent = self.scene()
        self.caller = self.client(self.agent)
        add_provider(self.caller, self.practice, clientId="confidential", clientSecret=CLIENT_SECRET)
        for person in ("alice", "bob"):
            self.sign_in(self.caller, person)
        # As the person herself, who may set a PIN then.
        sign_in(self.caller, "alice")
        self.caller.call("secret.put", {"account": "alice", "name": "draft", "value": CANARY})
        self.caller.call("policy.set", {"name": "default", "policy": {
            "name": "default", "version": 3, "capabilities": {"notes.read": {"kind": "read"}}}})
        self.place = self.directory()
        self.path = os.path.join(self.place, "lanyard.backup")

    def sign_in(self, client, person):
        issued = self.practice.post("sign-in", user=person, client_id="confidential")
        self.secrets = getattr(self, "secrets", set()) | {issued["refresh_token"], issued["access_token"]}
        client.call("signIn.import", {
            "provider": "practice", "refreshToken": issued["refresh_token"], "alias": person})

    def other(self):
        scene = self.scene()
        return scene, self.client(scene)

    # Restoring

    def test_restore_on_another_machine_brings_everything_after_a_sign_in(self):
        written = backup(self.caller, self.path)
        self.assertEqual(
            (written["accounts"], written["providers"], written["policies"], written["skipped"]), (2, 1, 1, []))
        self.assertEqual(os.path.getsize(self.path), written["bytes"])
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)
        self.assertEqual(own_files(self.agent), [])
        before = self.practice.asked()
        there, client = self.other()
        restored = restore(client, self.path)
        self.assertEqual([account["alias"] for account in restored["accounts"]], ["alice", "bob"])
        self.assertEqual({account["state"] for account in restored["accounts"]}, {"signedOut"})
        self.assertEqual((restored["providers"], restored["policies"]), (["practice"], ["default"]))
        self.assertEqual((restored["skipped"], restored["createdAt"]), ([], written["createdAt"]))
        self.refused(DATA_LOCKED, lambda: client.call("secret.get", {"account": "alice", "name": "draft"}))
        self.refused(SIGNED_OUT, lambda: client.call("token.get", {"account": "alice"}))
        self.assertEqual(self.practice.asked(), before)
        self.assertEqual(client.call("policy.get", {"name": "default"})["version"], 3)

        self.sign_in(client, "alice")
        # With the client's secret from the backup; no second account was made.
        self.assertTrue(client.call("token.get", {"account": "alice"})["accessToken"])
        value = client.call("secret.get", {"account": "alice", "name": "draft"})["value"]
        self.assertEqual(getattr(value, "reveal", lambda: value)(), CANARY)
        self.assertEqual(len(client.call("account.list")["accounts"]), 2)
        self.assertEqual(
            client.call("account.get", {"account": "alice"})["id"],
            self.caller.call("account.get", {"account": "alice"})["id"])
        # The original agent works on.
        self.assertTrue(self.caller.call("token.get", {"account": "alice"})["accessToken"])
        self.assertEqual(own_files(there), [])

    def test_restored_accounts_keep_their_rules(self):
        self.caller.call("rule.add", {"pattern": "https://git.example/acme/*", "account": "alice"})
        self.caller.call("rule.add", {"pattern": "https://git.example/*", "account": "bob"})
        backup(self.caller, self.path)
        there, client = self.other()
        # An account of its own stays, and its rule with it.
        add_provider(client, self.practice)
        import_account(client, self.practice, "bob", alias="bob")
        client.call("rule.add", {"pattern": "https://own.example/*", "account": "bob"})
        restore(client, self.path)
        alice = client.call("account.get", {"account": "alice"})["id"]
        rules = {rule["pattern"]: rule["account"] for rule in client.call("rule.list")["rules"]}
        self.assertEqual(rules["https://git.example/acme/*"], alice)
        self.assertEqual(client.call("account.resolve", {"url": "https://git.example/acme/x"})["account"], alice)
        self.assertIn("https://own.example/*", rules)
        self.assertEqual(len(rules), len(client.call("rule.list")["rules"]))
        there.kill()
        there.start()
        with there.client() as again:
            self.assertEqual(
                {rule["pattern"]: rule["account"] for rule in again.call("rule.list")["rules"]}, rules)

    def test_restore_keeps_existing_accounts_and_policies(self):
        backup(self.caller, self.path)
        self.caller.call("policy.set", {"name": "default", "policy": {
            "name": "default", "version": 4, "capabilities": {"notes.read": {"kind": "read"}}}})
        self.caller.call("secret.put", {"account": "alice", "name": "draft", "value": "newer"})
        restored = restore(self.caller, self.path)
        self.assertEqual((restored["accounts"], restored["providers"], restored["policies"]), ([], [], []))
        self.assertEqual({item["reason"] for item in restored["skipped"]}, {"alreadyThere"})
        self.assertEqual(len(restored["skipped"]), 4)
        self.assertEqual(self.caller.call("policy.get", {"name": "default"})["version"], 4)
        self.assertTrue(self.caller.call("token.get", {"account": "alice"})["accessToken"])
        self.assertTrue(self.caller.call("audit.verify")["intact"])

    def test_restore_gives_no_account_to_another_provider_of_the_same_name(self):
        backup(self.caller, self.path)
        elsewhere = self.provider()
        _, client = self.other()
        add_provider(client, elsewhere)
        restored = restore(client, self.path)
        self.assertEqual(restored["accounts"], [])
        self.assertEqual(
            sorted((item["kind"], item["reason"]) for item in restored["skipped"]),
            [("account", "providerDiffers"), ("account", "providerDiffers"), ("provider", "alreadyThere")])

    def test_restore_skips_an_alias_that_is_taken(self):
        backup(self.caller, self.path)
        _, client = self.other()
        add_provider(client, self.practice, clientId="confidential", clientSecret=CLIENT_SECRET)
        issued = self.practice.post("sign-in", user="bob", client_id="confidential")
        client.call("signIn.import", {
            "provider": "practice", "refreshToken": issued["refresh_token"], "alias": "alice"})
        restored = restore(client, self.path)
        self.assertEqual([account.get("alias") for account in restored["accounts"]], [None])
        self.assertIn(
            ("alias", "alice", "nameTaken"), [(item["kind"], item["name"], item["reason"]) for item in restored["skipped"]])

    def test_restored_data_still_needs_its_pin(self):
        self.caller.call("stepUp.enroll", {"account": "alice", "pin": "2468"})
        backup(self.caller, self.path)
        there, client = self.other()
        restore(client, self.path)
        self.sign_in(client, "alice")
        error = self.refused(DATA_LOCKED, lambda: client.call("secret.get", {"account": "alice", "name": "draft"}))
        self.assertEqual(list(error.remedies), ["stepUp"])
        # And again from there, without being opened: the sealed data is copied as it is.
        second = os.path.join(self.place, "second.backup")
        backup(client, second)
        _, third = self.other()
        restore(third, second)
        self.sign_in(third, "alice")
        for one in (client, third):
            self.refused(4003, lambda: one.call("stepUp.verify", {"account": "alice", "pin": "1111"}))
            one.call("stepUp.verify", {"account": "alice", "pin": "2468"})
            self.assertEqual(one.call("secret.list", {"account": "alice"})["names"], ["draft"])
            value = one.call("secret.get", {"account": "alice", "name": "draft"})["value"]
            self.assertEqual(getattr(value, "reveal", lambda: value)(), CANARY)

    def test_restore_brings_no_try_at_a_pin_back(self):
        self.caller.call("stepUp.enroll", {"account": "alice", "pin": "2468"})
        backup(self.caller, self.path, includeRefreshTokens=True)

        def wrong():
            return self.refused(4003, lambda: self.caller.call("stepUp.verify", {"account": "alice", "pin": "1111"}))

        def forget_and_restore():
            self.caller.call("account.signOut", {"account": "alice", "mode": "offline"})
            self.caller.call("account.forget", {"account": "alice"})
            restore(self.caller, self.path)

        self.assertEqual([wrong().data["attemptsLeft"] for _ in range(2)], [9, 8])
        forget_and_restore()
        self.assertEqual(self.caller.call("stepUp.status", {"account": "alice"})["attemptsLeft"], 8)
        self.caller.call("stepUp.verify", {"account": "alice", "pin": "2468"})
        # Another PIN has attempts of its own, and the first one keeps its count.
        self.caller.call("stepUp.enroll", {"account": "alice", "pin": "1357"})
        self.assertEqual(self.caller.call("stepUp.status", {"account": "alice"})["attemptsLeft"], 10)
        forget_and_restore()
        self.assertEqual(wrong().data["attemptsLeft"], 7)

    def test_rotated_root_keys_do_not_affect_a_restore(self):
        self.caller.call("stepUp.enroll", {"account": "alice", "pin": "2468"})
        self.caller.call("agent.rotateRootKey")
        backup(self.caller, self.path)
        _, client = self.other()
        restore(client, self.path)
        client.call("agent.rotateRootKey")
        self.sign_in(client, "alice")
        self.refused(DATA_LOCKED, lambda: client.call("secret.get", {"account": "alice", "name": "draft"}))
        client.call("stepUp.verify", {"account": "alice", "pin": "2468"})
        value = client.call("secret.get", {"account": "alice", "name": "draft"})["value"]
        self.assertEqual(getattr(value, "reveal", lambda: value)(), CANARY)
        findings = client.call("agent.diagnose")["findings"]
        self.assertEqual([finding for finding in findings if finding["severity"] == "problem"], [])

    def test_restore_with_refresh_tokens_is_signed_in(self):
        backup(self.caller, self.path, includeRefreshTokens=True)
        self.agent.kill()
        _, client = self.other()
        restored = restore(client, self.path)
        self.assertEqual({account["state"] for account in restored["accounts"]}, {"active"})
        self.assertTrue(client.call("token.get", {"account": "alice"})["accessToken"])
        entries = client.call("audit.list")["entries"]
        self.assertEqual([entry["event"] for entry in entries][:3], ["agent.restore"] * 3)

    def test_restored_account_that_is_signed_in_is_confirmed_by_the_first_decision(self):
        backup(self.caller, self.path, includeRefreshTokens=True)
        self.agent.kill()
        _, client = self.other()
        restore(client, self.path)
        denied = client.call("policy.explain", {"account": "alice", "capability": "notes.read"})
        self.assertEqual((denied["reason"], denied["remedies"]), ("neverAuthenticated", ["connect"]))
        decision = client.call(
            "authorization.check", {"account": "alice", "capability": "notes.read", "waitSeconds": 20})
        self.assertEqual(decision["effect"], "allow", decision)

    # The contents of the file

    def test_backup_file_shows_no_token_and_no_name(self):
        backup(self.caller, self.path)
        with_tokens = os.path.join(self.place, "tokens.backup")
        backup(self.caller, with_tokens, includeRefreshTokens=True)
        words = self.secrets | {
            CANARY, CLIENT_SECRET, PASSPHRASE, "draft", "alice", "bob", "acme", "globex", "practice", "default",
            "notes.read", self.practice.issuer}
        for path in (self.path, with_tokens):
            with open(path, "rb") as file:
                content = file.read()
            for word in words:
                self.assertNotIn(word.encode(), content, word)
                self.assertNotIn(word.encode("utf-16-le"), content, word)
        self.assertNotIn(PASSPHRASE, self.agent.log())

    def test_backup_without_tokens_has_no_refresh_token_even_for_its_owner(self):
        backup(self.caller, self.path)
        store = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        self.addCleanup(store.close)
        kinds = {row[0] for row in store.execute("SELECT DISTINCT kind FROM record")}
        # Grant, intent, staged answer, ID token, access tokens, outbox, active account, time, audit.
        self.assertEqual(kinds & {4, 5, 6, 7, 8, 17, 18, 19, 20, 22}, set())
        self.assertEqual(store.execute("SELECT count(*) FROM audit").fetchone(), (0,))
        self.assertEqual(store.execute("SELECT number, protection FROM keySlot").fetchall(), [(0, "backup")])

    # Refusals

    def test_backup_overwrites_no_file_and_follows_no_symlink(self):
        with open(self.path, "w") as file:
            file.write("mine")
        self.refused(INVALID, lambda: backup(self.caller, self.path))
        link, dangling = os.path.join(self.place, "link"), os.path.join(self.place, "dangling")
        os.symlink(self.path, link)
        os.symlink(os.path.join(self.place, "nothing"), dangling)
        away = os.path.join(self.place, "away")
        os.symlink(self.place, away)
        for path in (link, dangling, os.path.join(away, "backup"), self.place, "relative", "/", self.place + "/none/x"):
            self.refused(INVALID, lambda: backup(self.caller, path))
        with open(self.path) as file:
            self.assertEqual(file.read(), "mine")
        self.assertEqual(sorted(os.listdir(self.place)), ["away", "dangling", "lanyard.backup", "link"])

    def test_wrong_backup_passphrase_is_throttled(self):
        backup(self.caller, self.path)
        for _ in range(3):
            self.refused(UNLOCK_FAILED, lambda: restore(self.caller, self.path, "wrong"))
        error = self.refused(UNLOCK_FAILED, lambda: restore(self.caller, self.path))
        self.assertGreater(error.retry_after_ms, 0)

    def test_restore_of_a_file_that_is_no_backup_changes_nothing(self):
        key = os.path.join(self.agent.state, "key")
        for path, code in [(key, INVALID), (self.place, INVALID), (self.path + ".none", 6003), ("/dev/zero", INVALID),
                           (os.path.join(self.agent.state, "lanyard.sqlite"), INVALID)]:
            self.refused(code, lambda: restore(self.caller, path))
        fifo = os.path.join(self.place, "fifo")
        os.mkfifo(fifo)
        self.refused(INVALID, lambda: restore(self.caller, fifo))
        self.assertEqual(own_files(self.agent), [])

    def change(self, sql, *values):
        """A copy of the backup with one change."""
        changed = os.path.join(self.place, "changed")
        with open(self.path, "rb") as source, open(changed, "wb") as target:
            target.write(source.read())
        with sqlite3.connect(changed) as store:
            store.execute("PRAGMA journal_mode = DELETE")
            self.assertGreater(store.execute(sql, values).rowcount, 0, sql)
        store.close()
        return changed

    def test_changed_backup_is_refused_whole(self):
        backup(self.caller, self.path)
        _, client = self.other()
        absurd = b"s" * 16 + (3).to_bytes(8, "little") + (1 << 40).to_bytes(8, "little")
        weak = b"s" * 16 + (1).to_bytes(8, "little") + (8 << 10).to_bytes(8, "little")
        for sql, values, codes in self.some([
            ("UPDATE keySlot SET parameters = ?", (absurd,), {INTEGRITY}),
            ("UPDATE keySlot SET parameters = ?", (weak,), {INTEGRITY}),
            ("UPDATE keySlot SET protection = 'passphrase'", (), {INTEGRITY}),
            ("UPDATE keySlot SET wrappedRootKey = zeroblob(72)", (), {INTEGRITY}),
            ("UPDATE metadata SET value = x'02' WHERE name = 'backup'", (), {INVALID}),
            ("DELETE FROM metadata", (), {INVALID}),
            ("UPDATE record SET sealed = zeroblob(length(sealed)) WHERE kind = 3", (), {INTEGRITY}),
            ("UPDATE record SET sealed = zeroblob(length(sealed)) WHERE kind = 9", (), {INTEGRITY}),
            ("DELETE FROM record WHERE kind = 9", (), {INTEGRITY}),
            ("DELETE FROM record WHERE kind = 21", (), {INTEGRITY}),
            ("DELETE FROM record WHERE partition = (SELECT max(partition) FROM record)", (), {INTEGRITY}),
            ("UPDATE record SET generation = generation + 1 WHERE kind = 16", (), {INTEGRITY}),
        ], 6):
            with self.subTest(sql, seed=self.seed):
                with self.assertRaises(LanyardError) as caught:
                    restore(client, self.change(sql, *values))
                self.assertIn(caught.exception.code, codes)
                self.assertEqual(client.call("account.list")["accounts"], [])
                self.assertEqual(client.call("provider.list")["providers"], [])

    def test_backup_with_bytes_behind_it_is_refused(self):
        backup(self.caller, self.path)
        with open(self.path, "rb") as file:
            content = file.read()
        _, client = self.other()
        longer = os.path.join(self.place, "longer")
        for behind in (b"x", b"\0" * 4096, content):
            with open(longer, "wb") as file:
                file.write(content + behind)
            error = self.refused(INTEGRITY, lambda: restore(client, longer))
            self.assertIn("was changed after it was written", str(error))
            self.assertEqual(client.call("account.list")["accounts"], [])
        self.assertEqual(len(restore(client, self.path)["accounts"]), 2)

    def test_backup_with_a_flipped_byte_restores_nothing_or_all(self):
        backup(self.caller, self.path)
        with open(self.path, "rb") as file:
            content = file.read()
        _, client = self.other()
        flipped = os.path.join(self.place, "flipped")
        for position in range(0, len(content), len(content) // 24):
            with open(flipped, "wb") as file:
                file.write(content[:position] + bytes([content[position] ^ 0x41]) + content[position + 1:])
            try:
                restored = restore(client, flipped)
            except LanyardError as error:
                self.assertIn(error.code, {INVALID, INTEGRITY, UNLOCK_FAILED, UNAVAILABLE}, (position, error))
                self.assertEqual(client.call("account.list")["accounts"], [])
            else:
                # The byte was in an unused page.
                self.assertEqual(len(restored["accounts"]), 2)
                break

    def test_lock_during_a_backup_ends_it_without_a_file(self):
        other = self.client(self.agent)
        outcome = []
        thread = threading.Thread(target=lambda: outcome.append(self.refused(1001, lambda: backup(self.caller, self.path))))
        thread.start()
        self.until(lambda: own_files(self.agent), "the backup has begun")
        other.call("agent.lock")
        thread.join()
        self.assertEqual((len(outcome), os.listdir(self.place), own_files(self.agent)), (1, [], []))

    def test_second_backup_at_once_is_refused(self):
        other = self.client(self.agent)
        outcomes = []

        def run(client, path):
            try:
                outcomes.append(backup(client, path)["accounts"])
            except LanyardError as error:
                outcomes.append(error.code)

        threads = [
            threading.Thread(target=run, args=(client, os.path.join(self.place, str(number))))
            for number, client in enumerate((self.caller, other))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
        self.assertEqual(sorted(outcomes), [2, 1003])

    def test_tokens_are_served_during_a_backup(self):
        other = self.client(self.agent)
        thread = threading.Thread(target=lambda: backup(self.caller, self.path))
        thread.start()
        while thread.is_alive():
            other.call("secret.put", {"account": "bob", "name": "n", "value": "v"})
            self.assertTrue(other.call("token.refresh", {"account": "bob"})["accessToken"])
        thread.join()
        self.assertTrue(os.path.exists(self.path))

    def test_client_leaving_during_a_backup_leaves_a_whole_file(self):
        client = self.agent.client(timeout=PATIENCE_SECONDS)
        process = subprocess.Popen(
            [os.path.join(BIN, "lanyard"), "backup", self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=self.agent.environment)
        process.stdin.write(PASSPHRASE.encode())
        process.stdin.close()
        self.until(lambda: own_files(self.agent), "the backup has begun")
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        process.stderr.close()
        self.until(lambda: os.path.exists(self.path), "the backup is there")
        client.close()
        self.assertEqual(len(restore(self.caller, self.path)["skipped"]), 4)

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount a small disk")
    def test_backup_to_a_full_disk_leaves_nothing(self):
        from test_disk import SmallDisk

        disk = SmallDisk(self.place)
        self.addCleanup(disk.unmount)
        disk.fill()
        error = self.refused(UNAVAILABLE, lambda: backup(self.caller, self.path))
        self.assertEqual(error.reason, "diskFull")
        self.assertEqual(os.listdir(self.place), ["filler"])
        self.assertEqual(own_files(self.agent), [])
        disk.empty()
        self.assertEqual(backup(self.caller, self.path)["accounts"], 2)


class InterruptedBackups(Deaths):
    """Killed or failed at any write, in the state directory and in the backup's directory."""

    starts_first = True

    def scene_with_alice(self):
        provider = self.provider()
        scene = Faulty()
        self.addCleanup(scene.__exit__)
        scene.start()
        client = self.client(scene)
        add_provider(client, provider)
        import_account(client, provider, "alice", alias="alice")
        client.call("secret.put", {"account": "alice", "name": "draft", "value": CANARY})
        return scene, client

    def target(self, scene):
        return os.path.join(scene.directory, "home", "lanyard.backup")

    def calls(self):
        scene, client = self.scene_with_alice()
        scene.arm(Point(0, "count"))
        backup(client, self.target(scene))
        scene.disarm()
        calls = scene.counted()
        scene.kill()
        return calls

    def dies(self, scene, work):
        """The work is killed at the armed write. Where that is one of the broker, the agent lives, tells it, and is killed;
        so is one that made fewer writes than the run in which they were counted."""
        try:
            work()
        except LanyardError as error:
            if not isinstance(error, (ConnectionError, TimeoutError)):
                scene.process.kill()
        try:
            scene.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            scene.process.kill()
            scene.process.wait()

    def test_backup_killed_at_any_write_leaves_a_sound_store(self):
        calls = self.calls()
        self.tell(f"{len(calls)} writes of a backup")
        for point in self.some(kills(calls), 2):
            with self.subTest(point=point, seed=self.seed):
                scene, client = self.scene_with_alice()
                scene.arm(point)
                self.dies(scene, lambda: backup(client, self.target(scene)))
                self.assertTrue(is_sound(scene.state))
                was_there = os.path.exists(self.target(scene))
                scene.watched = False
                scene.start()
                self.assertEqual(own_files(scene), [])
                with scene.client(timeout=PATIENCE_SECONDS) as again:
                    self.assertTrue(again.call("token.get", {"account": "alice"})["accessToken"])
                    if was_there:
                        self.assertEqual(len(restore(again, self.target(scene))["skipped"]), 2)
                    else:
                        self.assertEqual(backup(again, self.target(scene))["accounts"], 1)
                scene.kill()

    def test_restore_killed_at_any_write_is_finished_by_the_next(self):
        provider = self.provider()
        source = self.scene()
        client = self.client(source)
        add_provider(client, provider)
        people = ("alice", "bob", "carol")
        for person in people:
            import_account(client, provider, person, alias=person)
            client.call("secret.put", {"account": person, "name": "draft", "value": CANARY})
        path = os.path.join(self.directory(), "lanyard.backup")
        backup(client, path)

        def empty():
            scene = Faulty()
            self.addCleanup(scene.__exit__)
            scene.start()
            return scene, self.client(scene)

        scene, client = empty()
        scene.arm(Point(0, "count"))
        restore(client, path)
        scene.disarm()
        calls = scene.counted()
        scene.kill()
        self.tell(f"{len(calls)} writes of a restore")
        for point in self.some(kills(calls), 2):
            with self.subTest(point=point, seed=self.seed):
                scene, client = empty()
                scene.arm(point)
                self.dies(scene, lambda: restore(client, path))
                self.assertTrue(is_sound(scene.state))
                scene.watched = False
                scene.start()
                self.assertEqual(own_files(scene), [])
                with scene.client(timeout=PATIENCE_SECONDS) as again:
                    there = [account["alias"] for account in again.call("account.list")["accounts"]]
                    findings = again.call("agent.diagnose")["findings"]
                    self.assertEqual([finding for finding in findings if finding["severity"] == "problem"], [])
                    restored = restore(again, path)
                    self.assertEqual(
                        sorted(there + [account["alias"] for account in restored["accounts"]]), sorted(people))
                    for person in people:
                        import_account(again, provider, person)
                        self.assertEqual(again.call("secret.list", {"account": person})["names"], ["draft"])
                scene.kill()

    def test_backup_failing_from_any_write_on_leaves_no_partial_file(self):
        calls = self.calls()
        points = [Point(number, how) for number in range(1, len(calls) + 1) for how in ("ENOSPC", "EIO")]
        for point in self.some(points, 2):
            with self.subTest(point=point, seed=self.seed):
                scene, client = self.scene_with_alice()
                scene.arm(point)
                try:
                    backup(client, self.target(scene))
                    written = True
                except LanyardError as error:
                    self.assertEqual(error.code, UNAVAILABLE, error)
                    written = False
                scene.disarm()
                if os.path.exists(self.target(scene)):
                    self.assertEqual(len(restore(client, self.target(scene))["skipped"]), 2)
                else:
                    self.assertFalse(written)
                    self.assertEqual(backup(client, self.target(scene))["accounts"], 1)
                # Where the file can't be removed either, the next backup removes it.
                self.assertEqual(own_files(scene), [])
                self.assertTrue(client.call("token.get", {"account": "alice"})["accessToken"])
                scene.kill()


if __name__ == "__main__":
    unittest.main()
