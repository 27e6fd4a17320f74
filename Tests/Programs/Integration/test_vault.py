"""The protection of the store: a passphrase or a key file, and the agent's reaction when either is wrong or missing."""

import concurrent.futures
import contextlib
import fcntl
import os
import re
import shutil
import sqlite3
import subprocess
import threading
import time
import unittest

from agent_fixture import PATIENCE_SECONDS, AgentFixture, accepts, add_provider, import_account

LOCKED, UNLOCK_FAILED, STORE_UNAVAILABLE, INTEGRITY, ROLLED_BACK, INVALID = 1001, 1008, 5001, 5002, 5003, -32602
STORE_FAILED, VAULT_CLOSED = 74, 76
RIGHT, WRONG = "correct horse battery staple", "correct horse battery stable"


class Passphrase(AgentFixture):
    def passphrase_file(self, words, mode=0o600):
        path = os.path.join(self.directory(), "passphrase")
        with open(path, "w") as file:
            file.write(words + "\n")
        os.chmod(path, mode)
        return path

    def test_passphrase_vault_starts_locked_and_opens_by_the_right_passphrase(self):
        practice = self.provider()
        scene = self.scene("--protection", "passphrase")
        client = self.client(scene)
        self.assertTrue(client.call("agent.status")["locked"])
        self.refused(LOCKED, lambda: client.call("account.list"))
        client.call("agent.initialize", {"protection": "passphrase", "passphrase": RIGHT})
        self.assertFalse(client.call("agent.status")["locked"])
        add_provider(client, practice)
        account = import_account(client, practice, "alice", alias="alice")

        scene.end()
        scene.start()
        self.assertTrue(client.call("agent.status")["locked"])
        self.refused(LOCKED, lambda: client.call("token.get", {"account": "alice"}))
        self.refused(UNLOCK_FAILED, lambda: client.call("agent.unlock", {"passphrase": WRONG}))
        self.assertTrue(client.call("agent.status")["locked"])
        self.unlock(client)
        token = client.call("token.get", {"account": "alice"})
        self.assertEqual(token["account"], account)

        client.call("agent.lock")
        self.refused(LOCKED, lambda: client.call("token.get", {"account": "alice"}))
        self.unlock(client)
        self.assertEqual(client.call("agent.status")["protection"], "passphrase")

    def test_a_vault_that_is_to_have_a_passphrase_is_made_by_no_other_key(self):
        scene = self.scene("--protection", "passphrase")
        client = self.client(scene)
        self.assertEqual(client.call("agent.status")["protection"], "passphrase")
        self.refused(INVALID, lambda: client.call("agent.unlock"))
        for params, path in (
                ({"protection": "keyFile"}, "/protection"),
                ({"protection": "keyFile", "passphrase": RIGHT}, "/protection"),
                ({"protection": "secretService"}, "/protection"),
                ({"protection": "passphrase"}, "/passphrase")):
            error = self.refused(INVALID, lambda: client.call("agent.initialize", params))
            self.assertEqual(error.data["path"], path, params)
        self.assertFalse(client.call("agent.status")["initialized"])
        self.assertNotIn("key", os.listdir(scene.state))
        client.call("agent.initialize", {"protection": "passphrase", "passphrase": RIGHT})
        self.assertEqual([slot["protection"] for slot in client.call("agent.listKeySlots")["slots"]], ["passphrase"])

    def unlock(self, client):
        """Unlocks; a wrong try before may have started a pause."""
        def tried():
            try:
                return client.call("agent.unlock", {"passphrase": RIGHT})
            except Exception as error:
                self.assertEqual(getattr(error, "code", None), UNLOCK_FAILED)
                self.assertIsNotNone(error.retry_after_ms)
                return None
        self.assertFalse(self.until(tried, "an unlock after the pause")["locked"])

    def test_wrong_passphrases_are_throttled(self):
        scene = self.scene("--protection", "passphrase")
        client = self.client(scene)
        client.call("agent.initialize", {"protection": "passphrase", "passphrase": RIGHT})
        client.call("agent.lock")
        pauses = [
            self.refused(UNLOCK_FAILED, lambda: client.call("agent.unlock", {"passphrase": WRONG})).retry_after_ms or 0
            for _ in range(6)
        ]
        self.assertGreater(max(pauses), 0, pauses)
        self.assertGreaterEqual(pauses[-1], pauses[0])

    def guesses(self, scene, count):
        """Concurrent wrong passphrases on separate connections; returns each pause in milliseconds."""
        pauses = []
        together = threading.Barrier(count)

        def guess():
            with scene.client(timeout=PATIENCE_SECONDS) as client:
                together.wait()
                error = self.refused(UNLOCK_FAILED, lambda: client.call("agent.unlock", {"passphrase": WRONG}))
                pauses.append(error.retry_after_ms)

        threads = [threading.Thread(target=guess) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sorted(pauses)

    def guessed(self, client, pause_ms):
        """Guesses until the pause is at least this long."""
        def guess():
            error = self.refused(UNLOCK_FAILED, lambda: client.call("agent.unlock", {"passphrase": WRONG}))
            return error.retry_after_ms >= pause_ms
        self.until(guess, "a long pause")

    def test_pause_after_wrong_passphrases_survives_a_kill_of_the_agent(self):
        scene = self.scene("--protection", "passphrase")
        client = self.client(scene)
        client.call("agent.initialize", {"protection": "passphrase", "passphrase": RIGHT})
        client.call("agent.lock")
        self.guessed(client, 7000)
        left = 8000
        for _ in range(2):
            scene.kill()
            scene.start()
            pause = self.refused(UNLOCK_FAILED, lambda: client.call("agent.unlock", {"passphrase": WRONG})).retry_after_ms
            # A guess that was judged would double the pause.
            self.assertTrue(1 < pause <= left, pause)
            left = pause
        self.unlock(client)
        client.call("agent.lock")
        # The right passphrase forgives none of the wrong ones.
        scene.kill()
        scene.start()
        self.guessed(client, 7000)

    def test_damaged_or_deleted_count_of_wrong_passphrases_keeps_nobody_out(self):
        scene = self.scene("--protection", "passphrase")
        client = self.client(scene)
        client.call("agent.initialize", {"protection": "passphrase", "passphrase": RIGHT})
        client.call("agent.lock")
        for change in ("DELETE FROM metadata WHERE name = 'throttle.unlock'",
                       "UPDATE metadata SET value = x'00ff' WHERE name = 'throttle.unlock'",
                       "UPDATE metadata SET value = CAST('lanyard-throttle-1 9223372036854775807 9223372036854775807 "
                       "9223372036854775807 x' AS BLOB) WHERE name = 'throttle.unlock'"):
            with self.subTest(change):
                self.refused(UNLOCK_FAILED, lambda: client.call("agent.unlock", {"passphrase": WRONG}))
                scene.kill()
                with contextlib.closing(sqlite3.connect(os.path.join(scene.state, "lanyard.sqlite"))) as store:
                    self.assertEqual(store.execute(change).rowcount, 1)
                    store.commit()
                scene.start()
                error = self.refused(UNLOCK_FAILED, lambda: client.call("agent.unlock", {"passphrase": WRONG}))
                self.assertLessEqual(error.retry_after_ms, 60_000)

    def test_start_with_a_passphrase_file_waits_out_the_pause(self):
        scene = self.scene("--protection", "passphrase")
        client = self.client(scene)
        client.call("agent.initialize", {"protection": "passphrase", "passphrase": RIGHT})
        client.call("agent.lock")
        self.guessed(client, 7000)
        scene.kill()
        command = [*scene.command, "--passphrase-file", self.passphrase_file(RIGHT)]

        # A signal ends it while it waits.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=scene.environment)
        self.assertIn(b"waits", process.stderr.readline())
        process.terminate()
        self.assertEqual(process.wait(PATIENCE_SECONDS), 0)
        process.stderr.close()

        scene.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=scene.environment)
        client.connect(wait_seconds=PATIENCE_SECONDS)
        self.assertFalse(client.call("agent.status")["locked"])

    def test_ten_concurrent_wrong_passphrases_are_throttled(self):
        scene = self.scene("--protection", "passphrase")
        client = self.client(scene)
        client.call("agent.initialize", {"protection": "passphrase", "passphrase": RIGHT})
        client.call("agent.lock")
        pauses = self.guesses(scene, 10)
        self.assertEqual(len(pauses), 10)
        self.assertEqual([pause <= 1 for pause in pauses], [True] * 2 + [False] * 8, "two slips, and then it takes time")

    def test_unlocking_keeps_the_throttle_of_wrong_passphrases(self):
        scene = self.scene("--protection", "passphrase")
        client = self.client(scene)
        client.call("agent.initialize", {"protection": "passphrase", "passphrase": RIGHT})
        longest = 0
        for _ in range(3):
            client.call("agent.lock")
            longest = max(longest, *self.guesses(scene, 3))
            self.unlock(client)
        self.assertGreater(longest, 1500, "each opening gave new free tries")

    def test_passphrase_file_opens_the_vault_at_the_start(self):
        scene = self.scene("--protection", "passphrase", "--passphrase-file", self.passphrase_file(RIGHT), start=False)
        scene.start()
        client = self.client(scene)
        self.assertFalse(client.call("agent.status")["locked"])
        scene.end()
        for words in (WRONG, RIGHT + " ", RIGHT[:-1]):
            ended = scene.once(
                "--socket", scene.socket, "--state-dir", scene.state, "--protection", "passphrase",
                "--passphrase-file", self.passphrase_file(words))
            self.assertEqual(ended.returncode, VAULT_CLOSED, ended.stderr)
            self.assertNotIn(words.encode(), ended.stderr)
        scene.start()
        self.assertFalse(client.call("agent.status")["locked"])

    def test_passphrase_file_readable_by_others_is_refused(self):
        for path in (self.passphrase_file(RIGHT, 0o644), "/nonexistent/passphrase", self.passphrase_file("")):
            scene = self.scene("--protection", "passphrase", "--passphrase-file", path, start=False)
            ended = scene.run()
            self.assertEqual(ended.returncode, VAULT_CLOSED, ended.stderr)

    def test_second_initialize_does_not_replace_the_vault(self):
        scene = self.scene("--protection", "passphrase")
        client = self.client(scene)
        client.call("agent.initialize", {"protection": "passphrase", "passphrase": RIGHT})
        with self.assertRaises(Exception):
            client.call("agent.initialize", {"protection": "passphrase", "passphrase": WRONG})
        scene.end()
        scene.start()
        self.unlock(client)


class KeyFile(AgentFixture):
    def test_missing_key_file_prevents_the_start_and_makes_no_other(self):
        _, scene, _ = self.alice()
        scene.end()
        key = os.path.join(scene.state, "key")
        os.rename(key, key + ".away")
        self.assertEqual(scene.run().returncode, VAULT_CLOSED)
        self.assertFalse(os.path.exists(key))
        os.rename(key + ".away", key)
        scene.start()

    def test_key_file_of_another_store_is_refused(self):
        _, scene, _ = self.alice()
        other = self.scene()
        for agent in (scene, other):
            agent.end()
        shutil.copy2(os.path.join(other.state, "key"), os.path.join(scene.state, "key"))
        self.assertEqual(scene.run().returncode, VAULT_CLOSED)

    def test_key_file_readable_by_others_is_refused(self):
        _, scene, _ = self.alice()
        scene.end()
        os.chmod(os.path.join(scene.state, "key"), 0o644)
        self.assertIn(scene.run().returncode, (VAULT_CLOSED, 73))

    def test_overwritten_store_prevents_the_start(self):
        _, scene, _ = self.alice()
        scene.end()
        for name in os.listdir(scene.state):
            if name.startswith("lanyard.sqlite-"):
                os.remove(os.path.join(scene.state, name))
        with open(os.path.join(scene.state, "lanyard.sqlite"), "r+b") as file:
            file.write(os.urandom(4096))
        self.assertIn(scene.run().returncode, (STORE_FAILED, VAULT_CLOSED))

    def test_anchor_file_that_cannot_be_written_is_told(self):
        _, scene, client = self.alice()
        anchors = os.path.join(scene.environment["XDG_CONFIG_HOME"], "lanyard", "anchors")

        def severity():
            return next(one["severity"] for one in client.call("agent.diagnose")["findings"] if one["check"] == "anchor")

        def count():
            (name,) = [name for name in os.listdir(anchors) if re.fullmatch("[0-9a-f]{32}", name)]
            with open(os.path.join(anchors, name)) as file:
                return int(file.read().split()[1])

        self.assertEqual(severity(), "ok")
        before = count()
        os.rename(anchors, anchors + ".away")
        with open(anchors, "x"):
            pass
        client.call("account.rename", {"account": "alice", "alias": "alice-at-work"})
        self.assertEqual(severity(), "problem")
        self.assertIn("rollback anchor not written", scene.log())
        os.remove(anchors)
        os.rename(anchors + ".away", anchors)
        self.assertEqual(count(), before)
        # The next start makes up for it.
        scene.end()
        scene.start()
        self.assertEqual(severity(), "ok")
        self.assertGreater(count(), before)

    def test_old_copy_of_the_store_sends_no_refresh_token(self):
        practice, scene, client = self.alice()
        scene.end()
        if not os.path.isdir(os.path.join(scene.environment["XDG_CONFIG_HOME"], "lanyard", "anchors")):
            self.skipTest("this agent keeps no anchor outside its state")
        old = os.path.join(self.directory(), "state")
        shutil.copytree(scene.state, old)
        scene.start()
        client.call("token.refresh", {"account": "alice"})
        client.call("token.refresh", {"account": "alice"})
        scene.end()
        shutil.rmtree(scene.state)
        shutil.copytree(old, scene.state)
        os.chmod(scene.state, 0o700)
        before = practice.asked()
        scene.start(wait=False)
        if self.until(lambda: scene.process.poll() is not None or accepts(scene.socket), "a start or an end"):
            if scene.process.poll() is not None:
                self.assertEqual(scene.process.returncode, VAULT_CLOSED)
            else:
                self.refused(ROLLED_BACK, lambda: client.call("token.get", {"account": "alice"}))
        self.assertEqual(practice.asked(), before)
        self.assertEqual(practice.ended(), {})


class MissingStore(AgentFixture):
    """A state directory whose store is gone, while the anchors know of it."""

    def prepared(self):
        practice, scene, client = self.alice()
        scene.end()
        return practice, scene, client

    def database(self, scene):
        return os.path.join(scene.state, "lanyard.sqlite")

    def cut(self, scene, size):
        with open(self.database(scene), "r+b") as file:
            file.truncate(size)

    def losses(self):
        return {
            "deleted": lambda scene: os.remove(self.database(scene)),
            "emptied": lambda scene: self.cut(scene, 0),
            "cut to one byte": lambda scene: self.cut(scene, 1),
            "removed with its directory": lambda scene: shutil.rmtree(scene.state),
        }

    def test_anchor_without_its_store_ends_the_start_and_creates_nothing(self):
        for name, lose in self.losses().items():
            with self.subTest(name):
                _, scene, _ = self.prepared()
                saved = os.path.join(self.directory(), "state")
                shutil.copytree(scene.state, saved)
                lose(scene)
                left = sorted(os.listdir(scene.state)) if os.path.isdir(scene.state) else []
                for _ in range(2):
                    ended = scene.run()
                    self.assertEqual(ended.returncode, VAULT_CLOSED, ended.stderr)
                    self.assertIn(b"--new-store", ended.stderr)
                checked = scene.once("--check", "--state-dir", scene.state)
                self.assertEqual(checked.returncode, VAULT_CLOSED, checked.stdout)
                self.assertIn(b"--new-store", checked.stdout)
                self.assertEqual([n for n in sorted(os.listdir(scene.state)) if n != "lock"], [n for n in left if n != "lock"])
                # The newest copy put back is all that it takes.
                shutil.rmtree(scene.state)
                shutil.copytree(saved, scene.state)
                os.chmod(scene.state, 0o700)
                scene.start()
                self.assertEqual(len(self.client(scene).call("account.list")["accounts"]), 1)

    def test_store_that_is_a_link_is_told_as_one_and_not_as_gone(self):
        _, scene, _ = self.prepared()
        elsewhere = os.path.join(self.directory(), "moved.sqlite")
        os.rename(self.database(scene), elsewhere)
        with open(elsewhere, "rb") as file:
            kept = file.read()
        os.symlink(elsewhere, self.database(scene))
        path = self.database(scene).encode()
        for options in ((), ("--new-store",)):
            ended = scene.run() if not options else scene.once(*scene.command[1:], *options)
            self.assertEqual(ended.returncode, 74, ended.stderr)
            self.assertIn(path + b" is a symbolic link, which the agent does not follow", ended.stderr)
            self.assertNotIn(b"gone", ended.stderr)
            self.assertNotIn(b"--new-store", ended.stderr)
        checked = scene.once("--check", "--state-dir", scene.state)
        self.assertIn(b"is a symbolic link", checked.stdout)
        self.assertNotIn(b"--new-store", checked.stdout)
        os.rename(elsewhere, elsewhere + ".away")
        self.assertIn(path + b" is a symbolic link that leads nowhere", scene.run().stderr)
        # What the message says is all that it takes.
        with open(elsewhere + ".away", "rb") as file:
            self.assertEqual(file.read(), kept)
        os.rename(elsewhere + ".away", self.database(scene))
        scene.start()
        self.assertEqual(len(self.client(scene).call("account.list")["accounts"]), 1)

    def test_pipe_or_directory_in_place_of_a_file_of_the_store_is_told_as_one(self):
        _, scene, _ = self.prepared()
        log = self.database(scene) + "-wal"
        if os.path.exists(log):
            os.rename(log, log + ".away")
        for make, remove in ((os.mkfifo, os.remove), (os.mkdir, os.rmdir)):
            make(log, 0o700)
            ended = scene.run()
            self.assertEqual(ended.returncode, 74, ended.stderr)
            self.assertIn(b"something else stands in the place of the file `lanyard.sqlite-wal`", ended.stderr)
            self.assertNotIn(b"others could", ended.stderr)
            remove(log)
        if os.path.exists(log + ".away"):
            os.rename(log + ".away", log)
        scene.start()

    def test_new_store_is_begun_only_by_the_option(self):
        for name, lose in self.losses().items():
            with self.subTest(name):
                practice, scene, client = self.prepared()
                lose(scene)
                new = self.scene("--new-store", start=False)
                new.state, new.socket, new.directory = scene.state, scene.socket, scene.directory
                new.start()
                self.assertEqual(client.call("account.list")["accounts"], [])
                add_provider(client, practice)
                import_account(client, practice, "alice", alias="alice")
                new.end()
                # From here on it is an ordinary store.
                scene.start()
                self.assertEqual(len(client.call("account.list")["accounts"]), 1)
                scene.end()

    def test_new_store_option_keeps_the_store_that_is_there(self):
        _, scene, client = self.prepared()
        new = self.scene("--new-store", start=False)
        new.state, new.socket, new.directory = scene.state, scene.socket, scene.directory
        new.start()
        self.assertEqual(len(client.call("account.list")["accounts"]), 1)
        new.end()

    def test_another_state_directory_begins_a_store_of_its_own(self):
        _, scene, _ = self.prepared()
        other = self.scene(start=False)
        other.state = os.path.join(scene.directory, "other")
        other.directory = scene.directory
        other.start()
        self.assertEqual(self.client(other).call("account.list")["accounts"], [])
        other.end()


class AnotherStore(AgentFixture):
    """A state directory with a store that is not its own: the note beside the anchors names another one."""

    def place(self, scene, other, *names):
        """Puts files of another state directory in the place of the scene's store."""
        for name in os.listdir(scene.state):
            if name.startswith("lanyard.sqlite"):
                os.remove(os.path.join(scene.state, name))
        for name in names:
            shutil.copy2(os.path.join(other.state, name), os.path.join(scene.state, name))

    def without_its_vault(self, scene):
        """As after the loss of a log that alone had the vault."""
        with contextlib.closing(sqlite3.connect(os.path.join(scene.state, "lanyard.sqlite"))) as store, store:
            for table in ("keySlot", "record", "audit", "auditDecision"):
                store.execute(f"DELETE FROM {table}")

    def refuses(self, scene, *options):
        """The start ends, says what helps, and changes nothing."""
        def files():
            found = {}
            for name in os.listdir(scene.state):
                if name not in ("lock", "lanyard.sqlite-shm", "lanyard.sqlite-wal", "lanyard.sqlite-reserve"):
                    with open(os.path.join(scene.state, name), "rb") as file:
                        found[name] = file.read()
            return found

        before = files()
        ended = scene.once(*scene.command[1:], *options)
        self.assertEqual(ended.returncode, VAULT_CLOSED, ended.stderr)
        for words in (b"not the one that the note beside the anchors names", b"--new-store", b"--accept-old-store"):
            self.assertIn(words, ended.stderr)
        self.assertEqual(files(), before)
        checked = scene.once("--check", "--state-dir", scene.state)
        self.assertEqual(checked.returncode, VAULT_CLOSED, checked.stdout)
        self.assertIn(b"The store is not the one that belongs here", checked.stdout)

    def test_store_of_another_vault_ends_the_start(self):
        practice, other, _ = self.alice()
        other.end()
        fresh = self.scene()
        fresh.end()
        for which, stranger in (("with accounts", other), ("without one", fresh)):
            for names in (("lanyard.sqlite",), ("lanyard.sqlite", "key")):
                with self.subTest(which, names=names):
                    _, scene, _ = self.alice()
                    scene.end()
                    self.place(scene, stranger, *names)
                    before = practice.asked()
                    for options in ((), ("--new-store",)):
                        self.refuses(scene, *options)
                    self.assertEqual(practice.asked(), before)

    def test_store_that_lost_its_vault_ends_the_start(self):
        for which in ("own", "of another directory"):
            with self.subTest(which):
                _, scene, _ = self.alice()
                scene.end()
                if which != "own":
                    other = self.scene()
                    other.end()
                    self.place(scene, other, "lanyard.sqlite")
                self.without_its_vault(scene)
                self.refuses(scene)
                self.refuses(scene, "--accept-old-store")
                # What the message says is all that it takes.
                for name in os.listdir(scene.state):
                    if name.startswith("lanyard.sqlite"):
                        os.rename(os.path.join(scene.state, name), os.path.join(self.directory(), name))
                self.begin(scene, "--new-store")
                scene.end()
                scene.start()

    def begin(self, scene, option):
        """Starts once with an option; the scene's own start follows it."""
        once = self.scene(option, start=False)
        once.directory, once.state, once.socket = scene.directory, scene.state, scene.socket
        once.start()
        scene.process = once.process

    def test_passphrase_vault_of_another_directory_ends_the_start(self):
        _, scene, _ = self.alice()
        scene.end()
        other = self.scene("--protection", "passphrase")
        self.client(other).call("agent.initialize", {"protection": "passphrase", "passphrase": RIGHT})
        other.end()
        self.place(scene, other, "lanyard.sqlite")
        self.refuses(scene)
        self.refuses(scene, "--protection", "passphrase")

    def test_accepted_store_of_another_vault_signs_out_unless_it_is_known_to_be_the_newest(self):
        for is_known in (False, True):
            with self.subTest(is_known=is_known):
                practice, scene, client = self.alice()
                scene.end()
                other = self.scene(start=False)
                if is_known:
                    # Of the same person, and so with the same anchors.
                    other.directory, other.socket = scene.directory, scene.socket
                    other.state = os.path.join(scene.directory, "other")
                other.start()
                with other.client(timeout=PATIENCE_SECONDS) as person:
                    add_provider(person, practice)
                    import_account(person, practice, "bob", alias="bob")
                other.end()
                if not is_known:
                    other.forget_keyring()
                self.place(scene, other, "lanyard.sqlite", "key")
                self.begin(scene, "--accept-old-store")
                state = client.call("account.get", {"account": "bob"})["state"]
                self.assertEqual(state, "active" if is_known else "signedOut")
                scene.end()
                # From here on it is the directory's own store.
                scene.start()
                self.assertEqual(client.call("account.get", {"account": "bob"})["state"], state)

    def test_moved_and_new_directories_open_without_a_word(self):
        _, scene, client = self.alice()
        scene.end()
        # Under another name, or on another machine: no note names this place.
        moved = self.scene(start=False)
        moved.directory = scene.directory
        moved.state = os.path.join(scene.directory, "moved")
        os.rename(scene.state, moved.state)
        moved.socket = scene.socket
        moved.start()
        self.assertEqual(client.call("account.get", {"account": "alice"})["state"], "active")
        moved.end()
        elsewhere = self.scene(start=False)
        shutil.copytree(moved.state, elsewhere.state)
        os.chmod(elsewhere.state, 0o700)
        elsewhere.start()
        self.assertEqual(self.client(elsewhere).call("account.get", {"account": "alice"})["state"], "active")
        elsewhere.end()
        # It comes back to where it was noted.
        os.rename(moved.state, scene.state)
        scene.start()
        self.assertEqual(client.call("account.get", {"account": "alice"})["state"], "active")

    def test_first_session_is_in_the_database_file_and_not_in_its_log_alone(self):
        _, scene, _ = self.alice()
        scene.kill()
        for name in ("lanyard.sqlite-wal", "lanyard.sqlite-shm"):
            os.remove(os.path.join(scene.state, name))
        scene.forget_keyring()
        shutil.rmtree(os.path.join(scene.environment["XDG_CONFIG_HOME"], "lanyard", "anchors"))
        scene.start()
        self.assertEqual(len(self.client(scene).call("account.list")["accounts"]), 1)

    def test_lost_log_of_the_first_session_ends_the_start(self):
        practice, scene, client = self.alice()
        client.call("token.refresh", {"account": "alice"})
        scene.kill()
        for name in ("lanyard.sqlite-wal", "lanyard.sqlite-shm"):
            os.remove(os.path.join(scene.state, name))
        before = practice.asked()
        ended = scene.run()
        self.assertEqual(ended.returncode, VAULT_CLOSED, ended.stderr)
        self.assertIn(b"--accept-old-store", ended.stderr)
        self.assertEqual(practice.asked(), before)


class CopiedStore(AgentFixture):
    """Two agents, one of them on a copy of the store that was made while the other ran."""

    def prepared(self):
        practice, scene, client = self.alice("--rotation", "strict")
        other = self.scene(start=False)
        shutil.copytree(scene.state, os.path.join(scene.directory, "copy"))
        # One person's configuration, and so one anchor.
        os.rename(os.path.join(other.directory, "run"), os.path.join(scene.directory, "other"))
        other.directory, other.state = scene.directory, os.path.join(scene.directory, "copy")
        other.socket = os.path.join(scene.directory, "other", "agent.sock")
        os.chmod(other.state, 0o700)
        other.start()
        return practice, client, self.client(other), other

    def test_only_one_of_two_agents_on_copies_of_a_store_sends_a_refresh_token(self):
        practice, first, second, other = self.prepared()
        first.call("token.refresh", {"account": "alice"})
        before = practice.asked()
        self.refused(ROLLED_BACK, lambda: second.call("token.refresh", {"account": "alice"}))
        self.assertEqual(practice.asked(), before)
        # More commits never make the copy the newest.
        for number in range(9):
            second.call("account.rename", {"account": "alice", "alias": f"alice{number}"})
            self.refused(ROLLED_BACK, lambda: second.call("token.refresh", {"account": f"alice{number}"}))
            second.call("account.rename", {"account": f"alice{number}", "alias": "alice"})
        for _ in range(3):
            first.call("token.refresh", {"account": "alice"})
        other.end()
        self.assertEqual(other.run().returncode, VAULT_CLOSED)
        self.assertEqual(practice.ended(), {})

    def test_agent_on_a_copy_sends_nothing_while_the_other_waits_for_its_answer(self):
        practice, first, second, _ = self.prepared()
        practice.fault("none", delayMilliseconds=2000)
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(first.call("token.refresh", {"account": "alice"})))
        before = practice.asked()
        waiting.start()
        self.until(lambda: practice.asked() > before, "the first agent's request")
        self.refused(ROLLED_BACK, lambda: second.call("token.refresh", {"account": "alice"}))
        waiting.join()
        self.assertEqual(len(answers), 1)
        self.assertEqual(practice.asked(), before + 1)
        self.assertEqual(practice.ended(), {})


class StoreUnderAnotherProcess(AgentFixture):
    """The files of a running agent are removed, moved or locked by another process."""

    def prepared(self):
        practice, scene, client = self.alice()
        client.call("token.get", {"account": "alice"})
        return practice, scene, client

    def store_refuses(self, client, reason, seconds=None):
        began = time.monotonic()
        error = self.refused(STORE_UNAVAILABLE, lambda: client.call("account.rename", {"account": "alice", "alias": "a"}))
        if seconds is not None:
            self.assertLess(time.monotonic() - began, seconds)
        self.assertEqual(error.data.get("reason"), reason)
        self.assertIsNotNone(error.retry_after_ms)
        self.assertEqual(client.call("token.get", {"account": "alice"})["source"], "cache")
        return error

    def test_removed_state_directory_is_noticed_at_the_next_commit(self):
        practice, scene, client = self.prepared()
        shutil.rmtree(scene.state)
        before = practice.asked()
        for _ in range(2):
            self.store_refuses(client, "missing")
            error = self.refused(STORE_UNAVAILABLE, lambda: client.call("token.refresh", {"account": "alice"}))
            self.assertIn("removed", str(error))
        self.assertEqual(practice.asked(), before, "nothing is sent whose answer could not be kept")
        found = [f for f in client.call("agent.diagnose")["findings"] if f["check"] == "storeFiles"]
        self.assertEqual([f["severity"] for f in found], ["problem"])
        self.assertFalse(os.path.exists(scene.state), "the agent makes no other store in its place")
        scene.end()
        self.assertEqual(scene.run().returncode, VAULT_CLOSED)

    def test_state_directory_that_comes_back_is_used_again(self):
        _, scene, client = self.prepared()
        os.rename(scene.state, scene.state + ".away")
        self.store_refuses(client, "missing")
        os.rename(scene.state + ".away", scene.state)
        client.call("account.rename", {"account": "alice", "alias": "a"})
        scene.end()
        scene.start()
        self.assertEqual(client.call("account.get", {"account": "a"})["alias"], "a")

    def test_store_replaced_by_its_copy_is_noticed(self):
        _, scene, client = self.prepared()
        path = os.path.join(scene.state, "lanyard.sqlite")
        shutil.copy2(path, path + ".other")
        os.rename(path + ".other", path)
        self.store_refuses(client, "missing")

    def test_lock_of_another_process_is_answered_within_two_seconds(self):
        _, scene, client = self.prepared()
        with open(os.path.join(scene.state, "lanyard.sqlite-shm"), "r+b") as index:
            # The locks of readers and writers (walLockExclusive in SQLite's wal.c).
            fcntl.lockf(index, fcntl.LOCK_EX | fcntl.LOCK_NB, 8, 120)
            self.store_refuses(client, "busy", seconds=2)
            clients = [self.client(scene) for _ in range(5)]
            with concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
                list(pool.map(lambda one: self.store_refuses(one, "busy", seconds=2.5), clients))
        client.call("account.rename", {"account": "alice", "alias": "a"})


class RotatedRootKey(AgentFixture):
    """An attacker has a copy from before a rotation of the root key, and with it that key, and can write the state."""

    def forged(self):
        """The rotated store is replaced by one of a higher count under the old root key."""
        practice, scene, client = self.alice()
        scene.end()
        # The attacker's agent, with a configuration directory of its own, stands for a program that seals records.
        other = self.scene(start=False)
        shutil.rmtree(other.state, ignore_errors=True)
        shutil.copytree(scene.state, other.state)
        os.chmod(other.state, 0o700)
        other.start()
        with other.client(timeout=PATIENCE_SECONDS) as attacker:
            for _ in range(20):
                attacker.call("account.rename", {"account": "alice", "alias": "mallory"})
                attacker.call("account.rename", {"account": "mallory", "alias": "alice"})
        other.end()
        # As on another machine: the attacker's agent told this one's kernel.
        other.forget_keyring()
        scene.start()
        self.assertEqual(client.call("agent.rotateRootKey")["keyEpoch"], 2)
        scene.end()
        shutil.rmtree(scene.state)
        shutil.copytree(other.state, scene.state)
        os.chmod(scene.state, 0o700)
        return practice, scene, client

    def test_store_under_a_rotated_root_key_is_refused_with_any_count(self):
        practice, scene, _ = self.forged()
        before = practice.asked()
        # With the file of the anchor alone, too, as after a restart of the machine.
        for forget in (lambda: None, scene.forget_keyring):
            forget()
            ended = scene.run()
            self.assertEqual(ended.returncode, VAULT_CLOSED, ended.stderr)
            self.assertIn(b"--accept-old-store", ended.stderr)
            self.assertEqual(scene.once("--check", "--state-dir", scene.state).returncode, VAULT_CLOSED)
        self.assertEqual(practice.asked(), before)

    def test_store_under_a_rotated_root_key_is_refused_by_the_keyring_alone(self):
        _, scene, _ = self.forged()
        shutil.rmtree(os.path.join(scene.environment["XDG_CONFIG_HOME"], "lanyard", "anchors"))
        ended = scene.run()
        if ended.returncode != VAULT_CLOSED:
            self.skipTest("NOT TESTED: no user keyring here")
        self.assertIn(b"--accept-old-store", ended.stderr)

    def test_rotated_store_and_one_whose_anchor_lost_the_root_key_open(self):
        _, scene, client = self.alice()
        anchors = os.path.join(scene.environment["XDG_CONFIG_HOME"], "lanyard", "anchors")
        for epoch in (2, 3):
            client.call("agent.rotateRootKey")
            scene.end()
            scene.start()
            self.assertEqual(client.call("token.get", {"account": "alice"})["account"][:4], "acc_")
            (name,) = [name for name in os.listdir(anchors) if name.endswith(".root")]
            with open(os.path.join(anchors, name)) as file:
                self.assertRegex(file.read(), rf"^lanyard-roots-1 {epoch}:[0-9a-f]{{32}}\n$")
        # The next start completes an anchor without a root key.
        scene.end()
        scene.forget_keyring()
        with open(os.path.join(anchors, name)) as file:
            known = file.read()
        os.remove(os.path.join(anchors, name))
        scene.start()
        client.call("token.get", {"account": "alice"})
        with open(os.path.join(anchors, name)) as file:
            self.assertEqual(file.read(), known)

    def test_rotation_that_an_anchor_does_not_take_changes_nothing(self):
        _, scene, client = self.alice()
        anchors = os.path.join(scene.environment["XDG_CONFIG_HOME"], "lanyard", "anchors")
        (name,) = [name for name in os.listdir(anchors) if name.endswith(".root")]
        # A directory where the new file is written first.
        os.makedirs(os.path.join(anchors, name + ".new", "full"))
        error = self.refused(STORE_UNAVAILABLE, lambda: client.call("agent.rotateRootKey"))
        self.assertEqual(error.reason, "anchorNotWritten")
        scene.end()
        scene.start()
        shutil.rmtree(os.path.join(anchors, name + ".new"))
        self.assertEqual(client.call("agent.rotateRootKey")["keyEpoch"], 2)


class DamagedAnchor(AgentFixture):
    def anchor(self, scene):
        """The file of the store's anchor, and its content."""
        anchors = os.path.join(scene.environment["XDG_CONFIG_HOME"], "lanyard", "anchors")
        (name,) = [name for name in os.listdir(anchors) if not name.startswith("place-") and not name.endswith(".root")]
        path = os.path.join(anchors, name)
        with open(path) as file:
            return path, file.read()

    def test_anchor_with_a_count_that_no_store_reaches_is_refused_with_words(self):
        practice, scene, client = self.alice()
        scene.end()
        path, sound = self.anchor(scene)
        before = practice.asked()
        for count in (2**64 - 1, 2**64 - 2, 2**63, 2**62 + 1):
            with open(path, "w") as file:
                file.write(f"lanyard-anchor-1 {count}\n")
            for options in ((), ("--accept-old-store",)):
                ended = scene.once("--socket", scene.socket, "--state-dir", scene.state, *options)
                self.assertEqual(ended.returncode, VAULT_CLOSED, ended.stderr)
                self.assertIn(b"damaged", ended.stderr)
        # Far ahead, but a count: an old copy that a person may accept.
        with open(path, "w") as file:
            file.write(f"lanyard-anchor-1 {2**62}\n")
        self.assertIn(b"--accept-old-store", scene.run().stderr)
        self.assertEqual(practice.asked(), before)
        with open(path, "w") as file:
            file.write(sound)
        scene.start()
        self.assertEqual(client.call("token.get", {"account": "alice"})["account"][:4], "acc_")

    def test_anchor_that_holds_no_count_is_refused_until_the_person_accepts_the_store(self):
        practice, scene, client = self.alice()
        scene.end()
        path, sound = self.anchor(scene)
        # As after a restart of the machine.
        scene.forget_keyring()
        before = practice.asked()
        for content in ("", "-1", "1e9", "lanyard-anchor-1 -1\n", "lanyard-anchor-1 1e9\n", "\0" * 64, sound[:-2]):
            with open(path, "w") as file:
                file.write(content)
            ended = scene.run()
            self.assertEqual(ended.returncode, VAULT_CLOSED, content)
            self.assertIn(b"damaged", ended.stderr)
            self.assertIn(b"--accept-old-store", ended.stderr)
            with open(path) as file:
                self.assertEqual(file.read(), content, "refused, and nothing was written")
        self.assertEqual(practice.asked(), before)
        scene.process = subprocess.Popen(
            [*scene.command, "--accept-old-store"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=scene.environment)
        client.connect(wait_seconds=PATIENCE_SECONDS)
        self.assertEqual(client.call("session.get", {"account": "alice"})["state"], "signedOut")
        scene.end()
        scene.start()
        self.assertEqual(client.call("session.get", {"account": "alice"})["state"], "signedOut")
        self.assertEqual(practice.asked(), before)


if __name__ == "__main__":
    unittest.main()
