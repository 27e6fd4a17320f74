"""The store's key in the session keyring: a real gnome-keyring on a private bus."""

import hmac
import os
import re
import select
import shutil
import socket
import subprocess
import threading
import time
import unittest

from agent_fixture import PATIENCE_SECONDS, AgentFixture, Scene, add_provider, import_account, request
from message_bus import BusError, Connection, Session, Variant
from test_memory import writable_memory

UNLOCK_FAILED, LOCKED, INTEGRITY = 1008, 1001, 5002
VAULT_CLOSED = 76
SERVICE, ROOT, INTERFACE = "org.freedesktop.secrets", "/org/freedesktop/secrets", "org.freedesktop.Secret."
PROGRAMS = ("dbus-daemon", "gnome-keyring-daemon")
MISSING = [name for name in PROGRAMS if shutil.which(name) is None]
KEY = re.compile(rb"lanyard-key-1 ([0-9a-f]{64}) [0-9a-f]{16}")


class Keyring:
    """The test's own requests to the service."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.session = self.call(ROOT, "Service", "OpenSession", "sv", "plain", Variant("s", ""))[1]

    def call(self, path, interface, member, signature="", *values):
        return self.connection.call(SERVICE, path, INTERFACE + interface, member, signature, *values)

    def collection(self):
        return self.call(ROOT, "Service", "ReadAlias", "s", "default")[0]

    def items(self):
        """The items that hold a store's key."""
        return self.search("org.lanyard.StoreKey")

    def search(self, schema):
        found = self.call(ROOT, "Service", "SearchItems", "a{ss}", {"application": "lanyard", "xdg:schema": schema})
        return found[0] + found[1]

    def item(self):
        (item,) = self.items()
        return item

    def secret(self, item):
        return self.call(item, "Item", "GetSecret", "o", self.session)[0][2]

    def set_secret(self, item, content):
        self.call(item, "Item", "SetSecret", "(oayays)", (self.session, b"", content, "text/plain"))

    def attributes(self, item):
        properties = "org.freedesktop.DBus.Properties"
        (value,) = self.connection.call(SERVICE, item, properties, "Get", "ss", INTERFACE + "Item", "Attributes")
        return value.value

    def copy(self, item, content):
        properties = {
            INTERFACE + "Item.Label": Variant("s", "a copy"),
            INTERFACE + "Item.Attributes": Variant("a{ss}", self.attributes(item)),
        }
        secret = (self.session, b"", content, "text/plain")
        self.call(self.collection(), "Collection", "CreateItem", "a{sv}(oayays)b", properties, secret, False)

    def delete(self, item):
        self.call(item, "Item", "Delete")

    def lock(self):
        self.call(ROOT, "Service", "Lock", "ao", [self.collection()])


class Overheard:
    """Everything on a bus, byte by byte, as any program of the user can read it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        connection.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.Monitoring",
                        "BecomeMonitor", "asu", [], 0)
        self.bytes = bytearray()
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self):
        self._connection.patience(None)
        while True:
            try:
                self.bytes += self._connection.raw()
            except OSError:
                return

    def close(self):
        self._connection.close()
        self._thread.join(PATIENCE_SECONDS)


class SessionScene(Scene):
    def __init__(self, session: Session, *options: str) -> None:
        super().__init__(*options)
        self.session = session

    @property
    def environment(self):
        return {**super().environment, "DBUS_SESSION_BUS_ADDRESS": self.session.address}


class SessionFixture(AgentFixture):
    def session(self):
        session = Session()
        self.addCleanup(session.close)
        return session

    def in_session(self, session, *options, start=True):
        scene = SessionScene(session, *(options or ("--protection", "secret-service")))
        self.addCleanup(scene.__exit__)
        if start:
            scene.start()
        return scene

    def connection(self, session):
        connection = session.connect()
        self.addCleanup(connection.close)
        return connection

    def refuses(self, scene, *words):
        """The agent does not start, reports why, and has made no key elsewhere."""
        ended = scene.run()
        self.assertEqual(ended.returncode, VAULT_CLOSED, ended.stderr)
        for word in words:
            self.assertIn(word, ended.stderr.decode())
        self.assertFalse(os.path.exists(os.path.join(scene.state, "key")))


@unittest.skipIf(MISSING, f"NOT TESTED: {', '.join(MISSING)} not installed (.ci/packages)")
class RealKeyring(SessionFixture):
    def start_keyring(self, session):
        keyring = session.run(
            "gnome-keyring-daemon", "--foreground", "--components=secrets", "--unlock", stdin=subprocess.PIPE)
        keyring.stdin.write(b"the keyring's own words\n")
        keyring.stdin.close()
        connection = self.connection(session)
        self.until(lambda: connection.bus("NameHasOwner", "s", SERVICE)[0], "the keyring")
        return keyring, Keyring(connection)

    def prepared(self):
        session = self.session()
        process, keyring = self.start_keyring(session)
        scene = self.in_session(session)
        return session, process, keyring, scene

    def test_first_start_makes_a_keyring_item_that_opens_the_next(self):
        session, process, keyring, scene = self.prepared()
        client = self.client(scene)
        status = client.call("agent.status")
        self.assertEqual((status["protection"], status["locked"]), ("secretService", False))
        item = keyring.item()
        text = keyring.secret(item)
        self.assertRegex(text, KEY)
        self.assertFalse(os.path.exists(os.path.join(scene.state, "key")))
        practice = self.provider()
        add_provider(client, practice)
        import_account(client, practice, "alice", alias="alice")

        # The keyring holds the rollback anchor, too.
        self.until(lambda: keyring.search("org.lanyard.Anchor"), "the anchor")
        (anchor,) = keyring.search("org.lanyard.Anchor")
        self.assertRegex(keyring.secret(anchor), rb"^lanyard-anchor-1 [0-9]+$")

        scene.end()
        scene.start()
        client.call("token.get", {"account": "alice"})
        # Locked and unlocked without a prompt, since the keyring is open.
        client.call("agent.lock")
        self.refused(LOCKED, lambda: client.call("token.get", {"account": "alice"}))
        self.assertFalse(client.call("agent.unlock")["locked"])

        # The keyring survives its daemon, and the agent does not need it meanwhile.
        session.end(process)
        client.call("token.get", {"account": "alice"})
        _, keyring = self.start_keyring(session)
        client.call("agent.lock")
        self.assertFalse(client.call("agent.unlock")["locked"])
        self.assertEqual((keyring.item(), keyring.secret(keyring.item())), (item, text))

    def forget_anchors(self, scene):
        """Leaves the session's keyring as the only anchor, as after a restart of the machine."""
        scene.forget_keyring()
        shutil.rmtree(os.path.join(scene.environment["XDG_CONFIG_HOME"], "lanyard", "anchors"))

    def last_secret(self, keyring, item):
        """What the item holds once the agent, which writes to it in the background, has written all."""
        told = [keyring.secret(item)]
        while len(told) < 5 or len(set(told[-5:])) > 1:
            time.sleep(0.1)
            told.append(keyring.secret(item))
        return told[-1]

    def test_slot_in_the_keyring_brings_an_anchor_without_the_protection_of_the_start(self):
        session = self.session()
        _, keyring = self.start_keyring(session)
        scene = self.in_session(session, "--protection", "key-file")
        client = self.client(scene)
        self.assertEqual(keyring.search("org.lanyard.Anchor"), [], "an agent without such a slot leaves the keyring alone")
        client.call("agent.addKeySlot", {"protection": "secretService"})
        for schema, content in (("Anchor", rb"^lanyard-anchor-1 [0-9]+$"), ("RootPrint", rb"^lanyard-roots-1 1:[0-9a-f]{32}\n$")):
            self.until(lambda: keyring.search(f"org.lanyard.{schema}"), schema)
            (item,) = keyring.search(f"org.lanyard.{schema}")
            self.assertRegex(keyring.secret(item), content)
        scene.end()
        old = os.path.join(self.directory(), "state")
        shutil.copytree(scene.state, old)

        # An old copy is noticed by that anchor alone.
        scene.start()
        (anchor,) = keyring.search("org.lanyard.Anchor")
        before = keyring.secret(anchor)
        practice = self.provider()
        add_provider(client, practice)
        import_account(client, practice, "alice", alias="alice")
        client.call("agent.rotateRootKey")
        self.until(lambda: keyring.secret(anchor) != before, "a higher count")
        scene.end()
        newest = os.path.join(self.directory(), "newest")
        os.rename(scene.state, newest)
        shutil.copytree(old, scene.state)
        os.chmod(scene.state, 0o700)
        self.forget_anchors(scene)
        self.refuses_old_copy(scene)
        shutil.rmtree(scene.state)
        os.rename(newest, scene.state)
        scene.start()
        client.call("token.get", {"account": "alice"})

        # Without the slot, the agent leaves the keyring alone again.
        (slot,) = [slot["slot"] for slot in client.call("agent.listKeySlots")["slots"] if slot["protection"] == "secretService"]
        client.call("agent.removeKeySlot", {"slot": slot})
        left = self.last_secret(keyring, anchor)
        client.call("account.rename", {"account": "alice", "alias": "work"})
        scene.end()
        self.assertEqual(keyring.secret(anchor), left)

    def refuses_old_copy(self, scene):
        ended = scene.run()
        self.assertEqual(ended.returncode, VAULT_CLOSED, ended.stderr)
        self.assertIn(b"--accept-old-store", ended.stderr)

    def test_key_never_crosses_the_bus_in_clear(self):
        session = self.session()
        process, _ = self.start_keyring(session)
        overheard = Overheard(self.connection(session))
        self.addCleanup(overheard.close)
        scene = self.in_session(session)
        client = self.client(scene)
        client.call("agent.lock")
        client.call("agent.unlock")
        scene.end()
        # The monitor has received everything before this.
        scene.start()
        scene.end()
        self.until(lambda: overheard.bytes.count(b"GetSecret") >= 3, "what was said")
        heard = bytes(overheard.bytes)
        keyring = Keyring(self.connection(session))
        key = KEY.match(keyring.secret(keyring.item())).group(1)
        self.assertIn(b"dh-ietf1024-sha256-aes128-cbc-pkcs7", heard)
        self.assertNotIn(b"lanyard-key-1", heard)
        self.assertNotIn(key, heard.lower())
        self.assertNotIn(bytes.fromhex(key.decode()), heard)
        session.end(process)

    @unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may read the agent's memory")
    def test_keyring_key_leaves_nothing_in_memory(self):
        _, _, keyring, scene = self.prepared()
        client = self.client(scene)
        digits = KEY.match(keyring.secret(keyring.item())).group(1)
        key = bytes.fromhex(digits.decode())

        def nowhere():
            self.assertFalse(client.call("agent.status")["locked"])
            for spelling in (digits[:32], digits[32:], key[:16], key[16:]):
                self.assertEqual([where for where, data in writable_memory(scene.pid) if spelling in data], [])

        nowhere()
        client.call("agent.lock")
        client.call("agent.unlock")
        nowhere()
        scene.end()
        scene.start()
        nowhere()

    def test_deleted_keyring_item_is_not_recreated(self):
        _, _, keyring, scene = self.prepared()
        scene.end()
        text = keyring.secret(keyring.item())
        attributes = keyring.attributes(keyring.item())
        keyring.delete(keyring.item())
        self.refuses(scene, "gone")
        self.assertEqual(keyring.items(), [])

        # Put back in any collection, it opens the vault again.
        properties = {
            INTERFACE + "Item.Label": Variant("s", "put back"),
            INTERFACE + "Item.Attributes": Variant("a{ss}", attributes),
        }
        keyring.call(keyring.collection(), "Collection", "CreateItem", "a{sv}(oayays)b", properties,
                     (keyring.session, b"", text, "text/plain"), False)
        scene.start()
        self.assertFalse(self.client(scene).call("agent.status")["locked"])

    def test_malformed_keyring_item_is_reported_as_damaged(self):
        _, _, keyring, scene = self.prepared()
        scene.end()
        item = keyring.item()
        text = keyring.secret(item)
        flipped = text[:20] + (b"0" if text[20:21] != b"0" else b"1") + text[21:]
        for content in (b"", b"hunter2", text[:-1], text + b"0", flipped, text.upper(), b"\xff" * 80, b"x" * 100_000):
            keyring.set_secret(item, content)
            self.refuses(scene)
            self.assertEqual(keyring.secret(item), content)
        keyring.set_secret(item, text + b"\n")
        scene.start()
        self.assertFalse(self.client(scene).call("agent.status")["locked"])

    def test_copied_keyring_items_are_accepted_and_two_keys_refused(self):
        session, _, keyring, scene = self.prepared()
        scene.end()
        item = keyring.item()
        keyring.copy(item, keyring.secret(item))
        scene.start()
        scene.end()
        other = self.in_session(session)
        other.end()
        (foreign,) = [each for each in keyring.items() if keyring.secret(each) != keyring.secret(item)]
        keyring.copy(item, keyring.secret(foreign))
        self.refuses(scene, "not a key of this store")

    def test_keyring_item_with_another_key_is_refused(self):
        session, _, keyring, scene = self.prepared()
        scene.end()
        item = keyring.item()
        other = self.in_session(session)
        other.end()
        (foreign,) = [each for each in keyring.items() if each != item]
        keyring.set_secret(item, keyring.secret(foreign))
        self.refuses(scene)

    def test_locked_keyring_leaves_the_agent_locked(self):
        session, process, keyring, scene = self.prepared()
        client = self.client(scene)
        scene.end()
        text = keyring.secret(keyring.item())
        keyring.lock()
        scene.start()
        status = client.call("agent.status")
        self.assertEqual((status["locked"], status["protection"]), (True, "secretService"))
        self.refused(LOCKED, lambda: client.call("account.list"))
        # No prompter runs in this session.
        error = self.refused(UNLOCK_FAILED, lambda: client.call("agent.unlock"))
        self.assertEqual(error.reason, "keyLocked")
        self.assertIn("keyring", error.message)
        self.assertTrue(client.call("agent.status")["locked"])

        session.end(process)
        _, keyring = self.start_keyring(session)
        self.assertFalse(client.call("agent.unlock")["locked"])
        self.assertEqual(keyring.secret(keyring.item()), text)

    def test_first_start_waits_for_a_locked_keyring(self):
        session = self.session()
        process, keyring = self.start_keyring(session)
        keyring.lock()
        scene = self.in_session(session)
        client = self.client(scene)
        status = client.call("agent.status")
        self.assertEqual((status["locked"], status["initialized"]), (True, False))
        self.refused(UNLOCK_FAILED, lambda: client.call("agent.initialize", {"protection": "secretService"}))
        session.end(process)
        _, keyring = self.start_keyring(session)
        for params, path in (
                ({"protection": "passphrase", "passphrase": "unused"}, "/protection"),
                ({"protection": "secretService", "passphrase": "unused"}, "/passphrase")):
            error = self.refused(-32602, lambda: client.call("agent.initialize", params))
            self.assertEqual(error.data["path"], path, params)
        made = client.call("agent.initialize", {"protection": "secretService"})
        self.assertEqual(made, {"locked": False, "protection": "secretService"})
        self.assertRegex(keyring.secret(keyring.item()), KEY)

    def test_missing_secret_service_or_bus_prevents_the_start(self):
        session, process, keyring, scene = self.prepared()
        scene.end()
        session.end(process)
        self.refuses(scene, "Secret Service", "DBUS_SESSION_BUS_ADDRESS")
        fresh = self.in_session(session, start=False)
        self.refuses(fresh, "Secret Service")
        session.close()
        self.refuses(scene, "Secret Service")
        self.refuses(fresh, "Secret Service")
        self.assertEqual([name for name in os.listdir(fresh.state) if name.startswith("key")], [])

    def test_keyring_slot_can_replace_the_key_file(self):
        session = self.session()
        process, keyring = self.start_keyring(session)
        scene = SessionScene(session)
        self.addCleanup(scene.__exit__)
        scene.start()
        client = self.client(scene)
        self.assertEqual(keyring.items(), [])
        keyring.lock()
        add = lambda: client.call("agent.addKeySlot", {"protection": "secretService"})
        self.assertEqual(self.refused(UNLOCK_FAILED, add).reason, "keyLocked")
        session.end(process)
        self.assertEqual(self.refused(INTEGRITY, add).reason, "keyUnavailable")
        _, keyring = self.start_keyring(session)
        added = add()
        self.assertRegex(keyring.secret(keyring.item()), KEY)
        self.assertEqual(client.call("agent.status")["protection"], "keyFile")
        slots = client.call("agent.listKeySlots")["slots"]
        (by_file,) = [slot["slot"] for slot in slots if slot["slot"] != added["slot"]]
        client.call("agent.removeKeySlot", {"slot": by_file})
        self.assertFalse(os.path.exists(os.path.join(scene.state, "key")))
        self.assertEqual(client.call("agent.status")["protection"], "secretService")
        # With any options: the key slot names where the key is.
        scene.end()
        scene.start()
        self.assertFalse(client.call("agent.status")["locked"])
        # A removed slot removes its item.
        client.call("agent.addKeySlot", {"protection": "keyFile"})
        client.call("agent.removeKeySlot", {"slot": added["slot"]})
        self.assertEqual(keyring.items(), [])

    def test_each_state_has_its_own_key_also_after_a_move(self):
        session, _, keyring, scene = self.prepared()
        scene.end()
        other = self.in_session(session)
        other.end()
        self.assertEqual(len({keyring.secret(item) for item in keyring.items()}), 2)
        os.rename(scene.state, scene.state + "-elsewhere")
        scene.state += "-elsewhere"
        scene.start()
        self.assertFalse(self.client(scene).call("agent.status")["locked"])


class LyingService:
    """A Secret Service that follows the interface, and lies where the test wants."""

    PRIME = int(
        "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B"
        "302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7EDEE386BFB5A899FA5AE9F24117C4B1FE6"
        "49286651ECE65381FFFFFFFFFFFFFFFF", 16)
    COLLECTION, ITEM, PROMPT = ROOT + "/collection/vault", ROOT + "/collection/vault/1", ROOT + "/prompt/1"
    ANCHORS = {"org.lanyard.Anchor": ROOT + "/collection/vault/2", "org.lanyard.RootPrint": ROOT + "/collection/vault/3"}

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.private = int.from_bytes(os.urandom(128), "big") % self.PRIME
        self.public = pow(2, self.private, self.PRIME)
        self.session_keys = {}
        self.text = None
        self.attributes = {}
        self.anchors = {}
        """The contents of the other items, by path: the rollback anchor."""
        self.locked = False
        self.hides_while_locked = True
        """As in KeePassXC: a locked database reveals nothing."""
        self.person_says = "yes"
        self.prompts_to_create = False
        self.collections = [self.COLLECTION]
        self.silent_at = ""
        self.errors = {}
        self.answers = {}
        self.asked = []
        self._thread = threading.Thread(target=connection.serve, args=(self.answer,), daemon=True)
        connection.patience(None)
        connection.bus("RequestName", "su", SERVICE, 4)
        self._thread.start()

    def close(self):
        self.connection.close()

    def aes(self, session, data, vector, decrypt=False):
        command = ["openssl", "enc", "-aes-128-cbc", "-K", self.session_keys[session].hex(), "-iv", vector.hex()]
        made = subprocess.run(command + ["-d"] * decrypt, input=data, capture_output=True, check=True)
        return made.stdout

    def agree(self, theirs):
        shared = pow(int.from_bytes(theirs, "big"), self.private, self.PRIME).to_bytes(128, "big")
        extracted = hmac.digest(bytes(32), shared, "sha256")
        # Each requester has its own session: one for the key, one for the anchor.
        session = f"{ROOT}/session/{len(self.session_keys) + 1}"
        self.session_keys[session] = hmac.digest(extracted, b"\1", "sha256")[:16]
        return session

    def answer(self, message):
        member, body = message.fields["member"], message.body
        self.path = message.fields["path"]
        self.asked.append(member)
        if member == self.silent_at:
            return None
        if member in self.errors:
            raise BusError(self.errors[member])
        if member in self.answers:
            return self.answers[member]
        return getattr(self, "on_" + member)(*body)

    def on_OpenSession(self, algorithm, theirs):
        if algorithm != "dh-ietf1024-sha256-aes128-cbc-pkcs7":
            return "vo", (Variant("s", ""), ROOT + "/session/plain")
        session = self.agree(theirs.value)
        size = (self.public.bit_length() + 7) // 8 or 1
        return "vo", (Variant("ay", self.public.to_bytes(size, "big")), session)

    def on_SearchItems(self, attributes):
        if attributes.get("xdg:schema") in self.ANCHORS:
            found = [path for path in self.anchors if path == self.ANCHORS[attributes["xdg:schema"]]]
            return "aoao", (([], found) if self.locked else (found, []))
        found = [self.ITEM] if self.text is not None and attributes.items() <= self.attributes.items() else []
        if not self.locked:
            return "aoao", (found, [])
        return "aoao", ([], [] if self.hides_while_locked else found)

    def on_ReadAlias(self, name):
        return "o", (self.collections[0] if self.collections else "/",)

    def on_Get(self, interface, name):
        return "v", (Variant("b", self.locked),)

    def on_Unlock(self, objects):
        return ("aoo", ([], self.PROMPT)) if self.locked else ("aoo", (objects, "/"))

    def on_Prompt(self, window):
        if self.person_says == "nothing":
            return "", ()
        agreed = self.person_says == "yes"
        self.locked = self.locked and not agreed
        # A prompt of another client first.
        for path, dismissed in ((self.PROMPT + "0", agreed), (self.PROMPT, not agreed)):
            self.connection.send(
                4, "bv", (dismissed, Variant("ao", [])), path=path, interface=INTERFACE + "Prompt", member="Completed")
        return "", ()

    def on_Dismiss(self):
        return "", ()

    def on_CreateItem(self, properties, secret, replace):
        attributes = properties[INTERFACE + "Item.Attributes"].value
        if attributes["xdg:schema"] in self.ANCHORS:
            self.asked[-1] += " of the anchor"
            path = self.ANCHORS[attributes["xdg:schema"]]
            self.anchors[path] = self.aes(secret[0], secret[2], secret[1], decrypt=True)
            return "oo", (path, "/")
        self.attributes = attributes
        self.text = self.aes(secret[0], secret[2], secret[1], decrypt=True)
        return "oo", (("/", self.PROMPT) if self.prompts_to_create else (self.ITEM, "/"))

    def on_GetSecret(self, session):
        vector = os.urandom(16)
        if self.path in self.anchors:
            return "(oayays)", ((session, vector, self.aes(session, self.anchors[self.path], vector), "text/plain"),)
        return "(oayays)", ((session, vector, self.aes(session, self.text, vector), "text/plain"),)

    def on_SetSecret(self, secret):
        assert self.path in self.anchors, "a key is never replaced"
        self.anchors[self.path] = self.aes(secret[0], secret[2], secret[1], decrypt=True)
        return "", ()

    def on_Delete(self):
        self.text = None
        return "o", ("/",)


@unittest.skipIf(shutil.which("dbus-daemon") is None, "NOT TESTED: dbus-daemon not installed (.ci/packages)")
class OtherServices(SessionFixture):
    def prepared(self):
        session = self.session()
        service = LyingService(session.connect())
        self.addCleanup(service.close)
        return session, service

    def opened(self):
        session, service = self.prepared()
        scene = self.in_session(session)
        self.assertFalse(self.client(scene).call("agent.status")["locked"])
        scene.end()
        return scene, service

    def test_service_that_hides_locked_items_and_prompts_to_create_is_used(self):
        session, service = self.prepared()
        service.prompts_to_create = True
        scene = self.in_session(session)
        client = self.client(scene)
        self.assertFalse(client.call("agent.status")["locked"])
        self.assertRegex(service.text, KEY)
        scene.end()
        for hides in (True, False):
            service.hides_while_locked, service.locked = hides, True
            service.asked.clear()
            scene.start()
            self.assertTrue(client.call("agent.status")["locked"])
            self.assertNotIn("Prompt", service.asked)
            self.assertIn("Dismiss", service.asked)
            service.person_says = "no"
            self.assertEqual(self.refused(UNLOCK_FAILED, lambda: client.call("agent.unlock")).reason, "keyLocked")
            service.person_says = "yes"
            self.assertFalse(client.call("agent.unlock")["locked"])
            scene.end()

    def test_keyring_that_hangs_or_is_locked_keeps_a_vault_of_another_slot_open(self):
        session, service = self.prepared()
        scene = self.in_session(session, "--protection", "key-file")
        client = self.client(scene)
        client.call("agent.addKeySlot", {"protection": "secretService"})
        self.until(lambda: len(service.anchors) == 2, "the anchor")
        for hang in ("OpenSession", "SearchItems", "GetSecret", None):
            with self.subTest(hang or "locked"):
                scene.end()
                service.silent_at, service.locked = hang or "", hang is None
                scene.start()
                self.assertFalse(client.call("agent.status")["locked"])
                self.assertNotIn("Prompt", service.asked, "no start asks the person")
                client.call("agent.lock")
                self.assertFalse(client.call("agent.unlock")["locked"])
        scene.end()
        service.close()
        scene.start()
        self.assertFalse(client.call("agent.status")["locked"])

    def test_other_callers_are_answered_during_a_keyring_prompt(self):
        scene, service = self.opened()
        service.locked, service.person_says = True, "nothing"
        scene.start()
        waiting, other = self.client(scene), self.client(scene)
        outcome = []
        def unlock():
            try:
                outcome.append(waiting.call("agent.unlock"))
            except Exception as error:
                outcome.append(error)
        thread = threading.Thread(target=unlock)
        thread.start()
        self.until(lambda: "Prompt" in service.asked, "the question")
        self.assertTrue(other.call("agent.status")["locked"])
        # One prompt at a time.
        self.refused(UNLOCK_FAILED, lambda: other.call("agent.unlock"))
        # The service ends, and the prompt with it.
        service.close()
        thread.join(PATIENCE_SECONDS)
        self.assertFalse(thread.is_alive())
        self.assertIsInstance(outcome[0], Exception)

    def test_keyring_prompt_ends_with_its_caller_or_the_agent(self):
        scene, service = self.opened()
        service.locked, service.person_says = True, "nothing"
        scene.start()
        for ending in (self.disconnect, lambda scene, waiting: scene.end()):
            service.asked.clear()
            with socket.socket(socket.AF_UNIX) as waiting:
                waiting.connect(scene.socket)
                waiting.sendall(request("agent.unlock"))
                self.until(lambda: self.is_asked(service, waiting), "the question")
                began = time.monotonic()
                ending(scene, waiting)
                self.until(lambda: service.asked[-1] == "Dismiss" or scene.process.poll() is not None, "its end")
                self.assertLess(time.monotonic() - began, 10)

    def is_asked(self, service, waiting):
        """The agent refuses an unlock while it ends the former prompt: then the caller asks once more."""
        if "Prompt" not in service.asked and select.select([waiting], [], [], 0)[0]:
            self.assertIn(b'"error"', waiting.recv(1 << 16))
            waiting.sendall(request("agent.unlock"))
        return "Prompt" in service.asked

    def disconnect(self, scene, waiting):
        waiting.close()

    def test_degenerate_diffie_hellman_number_is_refused(self):
        for number in (0, 1, LyingService.PRIME - 1, LyingService.PRIME, LyingService.PRIME + 1):
            session, service = self.prepared()
            service.public = number
            self.refuses(self.in_session(session, start=False), "Secret Service")
            self.assertNotIn("CreateItem", service.asked)

    def test_service_without_encryption_is_refused(self):
        session, service = self.prepared()
        service.errors["OpenSession"] = "org.freedesktop.DBus.Error.NotSupported"
        self.refuses(self.in_session(session, start=False), "Secret Service")
        # Asked for the key and for the anchor, and not again and again.
        self.assertLessEqual(service.asked.count("OpenSession"), 2)
        del service.errors["OpenSession"]
        service.answers["OpenSession"] = ("vo", (Variant("s", ""), ROOT + "/session/plain"))
        self.refuses(self.in_session(session, start=False), "Secret Service")
        self.assertNotIn("CreateItem", service.asked)

    def test_secret_not_sealed_in_this_session_is_reported_as_damaged(self):
        scene, service = self.opened()
        vector = bytes(16)
        for sealed, chosen in (
            (b"", vector), (b"x" * 15, vector), (bytes(96), vector), (service.text, vector), (bytes(96), b""),
            (bytes(1 << 16), vector),
        ):
            secret = (ROOT + "/session/1", chosen, sealed, "text/plain")
            service.answers["GetSecret"] = ("(oayays)", (secret,))
            self.refuses(scene, "not a key of this store")
        service.answers.clear()
        scene.start()

    def test_replies_of_other_types_are_refused(self):
        scene, service = self.opened()
        for member, answer in (
            ("OpenSession", ("s", ("hello",))), ("OpenSession", ("vo", (Variant("ay", b""), "/"))),
            ("SearchItems", ("", ())), ("SearchItems", ("as", (["x"],))),
            ("SearchItems", ("aoao", ([f"{ROOT}/i{n}" for n in range(500)], []))), ("GetSecret", ("s", ("key",))),
        ):
            service.answers = {member: answer}
            self.refuses(scene)
        service.answers = {}
        for member, error in (
            ("SearchItems", "org.freedesktop.DBus.Error.Failed"), ("GetSecret", INTERFACE + "Error.NoSuchObject"),
            ("GetSecret", INTERFACE + "Error.NoSession"),
        ):
            service.errors = {member: error}
            self.refuses(scene)
        service.errors = {"GetSecret": INTERFACE + "Error.IsLocked"}
        scene.start()
        self.assertTrue(self.client(scene).call("agent.status")["locked"])

    def test_hanging_service_prevents_the_start_after_five_seconds(self):
        scene, service = self.opened()
        service.silent_at = "SearchItems"
        self.refuses(scene, "Secret Service")
        service.silent_at = ""
        scene.start()

    def test_missing_default_keyring_is_not_taken_for_a_missing_item(self):
        scene, service = self.opened()
        text, service.text, service.collections = service.text, None, []
        asked = len(service.asked)
        self.refuses(scene, "default keyring")
        self.assertNotIn("CreateItem", service.asked[asked:])
        service.text = text
        scene.start()
        scene.end()
        # With a default keyring, a missing item is gone.
        service.text, service.collections = None, [LyingService.COLLECTION]
        self.refuses(scene, "gone")
        self.assertEqual(service.asked.count("CreateItem"), 1)


if __name__ == "__main__":
    unittest.main()
