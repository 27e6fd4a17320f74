"""Tampering with the store: every column of every table changed, rows moved, restored, removed and added.

A writer of the file can't read its content. Tampering is reported for the account whose rows were changed, and for
that account only; for the vault's own records the agent does not start. No changed data is used, and no refresh token
from it is sent.

Columns are read from the schema, so that a new column is covered as soon as it exists.
"""

import contextlib
import os
import random
import shutil
import sqlite3
import unittest
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from deaths import ALL, Sampled
from agent_fixture import (
    Client, AgentFixture, LanyardError, Provider, Scene, accepts, add_provider, import_account, sign_in)
from measure import processor_seconds

INVALID_PARAMS, LOCKED, UNLOCK_FAILED, STEP_UP_FAILED, INTEGRITY = -32602, 1001, 1008, 4003, 5002
STORE_FAILED, VAULT_CLOSED = 74, 76
PIN, SECRET = "2468", "what-alice-keeps"

# The numbers of the sealed format (DeclaredKind).
HEAD, KEYS, PROFILE, GRANT, CLIENT_SECRET, STEP_UP, SNAPSHOT, PROVIDER, ACTIVE, POLICY, MARK = 1, 2, 3, 4, 9, 11, 12, 16, 17, 21, 30
OUTBOX, TRUSTED_TIME, ERASURE, CALLER_GRANT, KEY_SLOT_NOTES, SPENT_TRIES = 18, 19, 20, 27, 31, 56
VAULT = bytes(16)

RULES = {
    "version": 1,
    "capabilities": {"badge.view": {"kind": "read", "sensitivity": "internal", "offlineWindowSeconds": 604800}},
}


class Cell(NamedTuple):
    """One column of one row."""

    table: str
    row: int
    column: str
    was: Any


class File:
    """The database of a stopped or running agent, opened without SQLite's constraints."""

    def __init__(self, state: str) -> None:
        self._connection = sqlite3.connect(os.path.join(state, "lanyard.sqlite"), isolation_level=None, timeout=5)
        self.ask("PRAGMA ignore_check_constraints = ON")

    def ask(self, sql: str, *values: Any) -> List[Any]:
        return self._connection.execute(sql, values).fetchall()

    def tables(self) -> List[str]:
        named = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        return [name for (name,) in self.ask(named)]

    def indexes(self) -> List[str]:
        """Those that a statement made, and none that SQLite keeps for a PRIMARY KEY."""
        return [name for (name,) in self.ask("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name")]

    def columns(self, table: str) -> List[str]:
        return [column[1] for column in self.ask(f"PRAGMA table_info({table})")]

    def cells(self, table: str, where: str = "1") -> List[Cell]:
        key = self.key(table)
        return [
            Cell(table, row, column, was)
            for (row,) in self.ask(f"SELECT {key} FROM {table} WHERE {where} ORDER BY {key}")
            for column in self.columns(table)
            for (was,) in self.ask(f"SELECT {column} FROM {table} WHERE {key} = ?", row)
        ]

    def sealed_columns(self, table: str) -> List[str]:
        """All columns but the row number, which carries no data."""
        return [name for name in self.columns(table) if (table, name) != ("record", "row")]

    def key(self, table: str) -> str:
        """The column that names a row: its number, or the first column of a table WITHOUT ROWID."""
        without = "WITHOUT ROWID" in self.ask("SELECT sql FROM sqlite_schema WHERE name = ?", table)[0][0]
        return self.columns(table)[0] if without else "rowid"

    def set(self, cell: Cell, value: Any) -> None:
        """Replaces a row that has the new key."""
        changed = self._connection.execute(
            f"UPDATE OR REPLACE {cell.table} SET {cell.column} = ? WHERE {self.key(cell.table)} = ?", (value, cell.row))
        assert changed.rowcount == 1, cell

    def partitions(self) -> List[bytes]:
        return [partition for (partition,) in self.ask("SELECT DISTINCT partition FROM record") if partition != VAULT]

    def rows(self, partition: bytes, kind: Optional[int] = None) -> List[Any]:
        columns = ", ".join(name for name in self.columns("record") if name != "row")
        more = "" if kind is None else f" AND kind = {kind}"
        return self.ask(f"SELECT {columns} FROM record WHERE partition = ?{more} ORDER BY kind, id", partition)

    def put(self, row: Any, **changed: Any) -> None:
        names = [name for name in self.columns("record") if name != "row"]
        values = {**dict(zip(names, row)), **changed}
        self.ask(
            f"INSERT OR REPLACE INTO record ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
            *(values[name] for name in names))

    def delete(self, where: str) -> None:
        changed = self._connection.execute(f"DELETE FROM record WHERE {where}")
        assert changed.rowcount > 0, where

    def close(self) -> None:
        self._connection.close()


def flips(was: Any, chance: random.Random) -> List[Any]:
    """Changed values of the same type: a flipped bit, and numbers out of range."""
    if isinstance(was, bytes):
        if not was:
            return [b"\0"]
        places = {0, len(was) // 2, len(was) - 1} if ALL else {chance.randrange(len(was))}
        return [was[:at] + bytes([was[at] ^ 1 << chance.randrange(8)]) + was[at + 1:] for at in sorted(places)] + [
            was[:-1], was + b"\0"][: 2 if ALL else 1]
    if isinstance(was, str):
        return [chr(ord(was[0]) ^ 1) + was[1:] if was else "x", ""]
    return [was ^ 1, was + 1000, -1, 1 << 40, (1 << 63) - 1]


class Tampering(Sampled):
    """alice (with a PIN and stored data) and bob at one provider, carol at another; one policy for each.

    The directories are saved, and every attack starts from that copy.
    """

    @classmethod
    def setUpClass(cls):
        # Without rotation, one sign-in serves all attacks.
        cls.idp = Provider("--rotation", "none")
        cls.addClassCleanup(cls.idp.stop)
        cls.origin = Scene()
        cls.addClassCleanup(cls.origin.__exit__)
        cls.origin.start()
        with cls.origin.client(timeout=20) as client:
            for name in ("default", "other"):
                client.call("policy.set", {"name": name, "policy": {"name": name, **RULES}})
            add_provider(client, cls.idp)
            add_provider(
                client, cls.idp, name="second", clientId="confidential", clientSecret="practice-secret", policy="other")
            cls.accounts = {person: sign_in(client, person, alias=person) for person in ("alice", "bob")}
            token = cls.idp.post("sign-in", user="carol", client_id="confidential")["refresh_token"]
            cls.accounts["carol"] = client.call(
                "signIn.import", {"provider": "second", "refreshToken": token, "alias": "carol"})["account"]
            client.call("secret.put", {"account": "alice", "name": "draft", "value": SECRET})
            client.call("stepUp.enroll", {"account": "alice", "pin": PIN})
            # A queued revocation: one more record of the vault.
            import_account(client, cls.idp, "alice@globex", alias="gone")
            cls.idp.fault("answer", path="/revoke", status=503)
            client.call("account.signOut", {"account": "gone", "mode": "offline"})
        cls.origin.end()
        with contextlib.closing(File(cls.origin.state)) as file:
            cls.partition = cls.partitions_by_person(file)
        cls.sound = {}

    @classmethod
    def partitions_by_person(cls, file: File) -> Dict[str, bytes]:
        """The accounts' partitions in order of creation: alice's first."""
        came = file.ask("SELECT partition FROM record WHERE partition != ? GROUP BY partition ORDER BY min(row)", VAULT)
        return dict(zip(("alice", "bob", "carol", "gone"), (partition for (partition,) in came)))

    def setUp(self):
        super().setUp()
        self.agent = Scene()
        self.addCleanup(self.agent.__exit__)
        self.restore()
        if not Tampering.sound:
            Tampering.sound = self.untouched()

    def untouched(self) -> Dict[str, Dict[str, Any]]:
        """The answers about each account before any attack."""
        self.agent.start()
        with self.agent.client(timeout=20) as client:
            sound = {person: self.answers(client, person) for person in self.accounts}
        self.agent.end()
        for person, told in sound.items():
            self.assertNotIn("integrity", told.values(), person)
        self.restore()
        return sound

    def restore(self, since: Optional[str] = None) -> None:
        for name in ("state", "home"):
            to = os.path.join(self.agent.directory, name)
            shutil.rmtree(to, ignore_errors=True)
            shutil.copytree(os.path.join(since or self.origin.directory, name), to)
        os.chmod(self.agent.state, 0o700)
        # The kernel's keyring remembers the discarded run; old copies are tested in test_vault.py.
        self.agent.forget_keyring()

    # Questions about an account.

    def probes(self, person: str) -> Dict[str, Callable[[Client], Any]]:
        account = {"account": person}

        def ask(method: str, *path: str, **more: Any) -> Callable[[Client], Any]:
            def asked(client: Client) -> Any:
                answer = client.call(method, {**account, **more})
                for step in path:
                    answer = answer[step]
                return answer
            return asked

        probes = {
            "account.get": ask("account.get", "subject"),
            "session.get": ask("session.get", "state"),
            "token.get": ask("token.get", "account"),
            "token.refresh": ask("token.refresh", "account"),
            "snapshot.get": ask("snapshot.get", "roles"),
            "authorization.check": ask("authorization.check", "reason", capability="badge.view"),
        }
        if person == "alice":
            probes["secret.get"] = ask("secret.get", "value", name="draft")
            probes["secret.list"] = ask("secret.list", "names")
            probes["stepUp.verify"] = ask("stepUp.verify", "account", pin=PIN)
        return probes

    def answers(self, client: Client, person: str) -> Dict[str, Any]:
        """All answers about a person; `integrity` for that error, and other errors by themselves."""
        told: Dict[str, Any] = {}
        for name, probe in self.probes(person).items():
            before = self.idp.asked()
            try:
                told[name] = probe(client)
            except LanyardError as error:
                told[name] = "integrity" if error.code == INTEGRITY else f"{error.code} {error.name}"
                self.assertEqual(self.idp.asked(), before, f"{name} was refused, and sent something all the same")
        return told

    # Attacks

    @contextlib.contextmanager
    def attacked(self, attack: Callable[[File], None], since: Optional[str] = None):
        """Attacks the files of a stopped agent; yields a client of the next one, or None if it did not start."""
        self.restore(since)
        with contextlib.closing(File(self.agent.state)) as file:
            attack(file)
        self.agent.start(wait=False)
        self.until(lambda: self.agent.process.poll() is not None or accepts(self.agent.socket), "a start or an end")
        try:
            if self.agent.process.poll() is not None:
                yield None
            else:
                with self.agent.client(timeout=20) as client:
                    yield client
        finally:
            if self.agent.process.poll() is None:
                self.agent.kill()
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.agent.socket)

    def suffers_alone(self, attack: Callable[[File], None], *people: str, at_least: int = 1) -> Dict[str, Any]:
        """The named people's answers are unchanged or `integrity`; all others' are unchanged."""
        with self.attacked(attack) as client:
            self.assertIsNotNone(client, self.agent.log()[-300:])
            told = {person: self.answers(client, person) for person in self.accounts}
            listed = {account["id"] for account in client.call("account.list")["accounts"]}
        for person, answers in told.items():
            if person not in people:
                self.assertEqual(answers, self.sound[person], f"{person} has nothing to do with it")
                self.assertIn(self.accounts[person], listed)
                continue
            for name, answer in answers.items():
                self.assertIn(answer, ("integrity", self.sound[person][name]), f"{name} of {person}")
            noticed = [name for name, answer in answers.items() if answer == "integrity"]
            self.assertGreaterEqual(len(noticed), at_least, f"it was not noticed: {answers}")
        return told

    def closes_the_vault(self, attack: Callable[[File], None], *statuses: int) -> None:
        before = self.idp.asked()
        with self.attacked(attack) as client:
            self.assertIsNone(client, "it started all the same")
            self.assertIn(self.agent.process.returncode, statuses or (VAULT_CLOSED,))
        last = self.agent.log().strip().splitlines()[-1]
        self.assertRegex(last, r"^lanyard-agent: .*\.$")
        self.assertEqual(self.idp.asked(), before)

    def each(self, expect: Callable[[Callable[[File], None]], Any], where: str, table: str = "record",
             columns: Optional[List[str]] = None) -> None:
        """Changes each column of some rows, one at a time, and checks the result."""
        with contextlib.closing(File(self.origin.state)) as file:
            cells = [cell for cell in file.cells(table, where) if cell.column in (columns or file.sealed_columns(table))]
        self.assertTrue(cells, f"no such rows: {table} {where}")
        for cell in self.some_of_each_column(cells):
            values = flips(cell.was, self.chance)
            for value in values if ALL else [self.chance.choice(values)]:
                with self.subTest(table=table, row=cell.row, column=cell.column, value=value, seed=self.seed):
                    expect(lambda file, cell=cell, value=value: self.change(file, cell, value))

    def some_of_each_column(self, cells: List[Cell]) -> List[Cell]:
        columns = {cell.column for cell in cells}
        taken = [cell for column in sorted(columns) for cell in self.some([c for c in cells if c.column == column], 2)]
        return [cell for cell in cells if cell in taken]

    def change(self, file: File, cell: Cell, value: Any) -> None:
        file.set(cell, value)

    def kinds(self, person: str) -> List[int]:
        with contextlib.closing(File(self.origin.state)) as file:
            return sorted({row[1] for row in file.rows(self.partition[person])})

    def vault_row(self, kind: int, number: int) -> str:
        """The row of the vault's nth record of a kind, in order of creation."""
        with contextlib.closing(File(self.origin.state)) as file:
            rows = file.ask(f"SELECT row FROM record WHERE {self.place(VAULT, kind)} ORDER BY row")
        return f"row = {rows[number][0]}"

    def columns_beside(self, without: str) -> List[str]:
        with contextlib.closing(File(self.origin.state)) as file:
            return [name for name in file.sealed_columns("record") if name != without]

    def place(self, partition: bytes, kind: Optional[int] = None) -> str:
        more = "" if kind is None else f" AND kind = {kind}"
        return f"partition = x'{partition.hex()}'{more}"

    # Rows of an account

    def test_changed_column_of_an_account_row_affects_that_account_only(self):
        place = self.place(self.partition["alice"])
        self.each(lambda attack: self.suffers_alone(attack, "alice"), place)

    def test_deleted_row_of_an_account_affects_that_account_only(self):
        for kind in self.kinds("alice"):
            with self.subTest(kind=kind):
                self.suffers_alone(lambda file: file.delete(self.place(self.partition["alice"], kind)), "alice")

    def test_added_row_of_an_account_affects_that_account_only(self):
        for kind in self.kinds("alice"):
            with self.subTest(kind=kind):
                def attack(file):
                    row = file.rows(self.partition["alice"], kind)[0]
                    file.put(row, id=b"another row's id")
                self.suffers_alone(attack, "alice")

    def test_swapped_rows_of_two_accounts_are_reported(self):
        """Also at one provider, with the same kind of keys, in both directions."""
        for other in ("bob", "carol"):
            for kind in self.some(sorted(set(self.kinds("alice")) & set(self.kinds(other))), 4):
                with self.subTest(kind=kind, other=other, seed=self.seed):
                    def attack(file):
                        alice, theirs = (file.rows(self.partition[person], kind)[0] for person in ("alice", other))
                        file.put(theirs, partition=self.partition["alice"])
                        file.put(alice, partition=self.partition[other])
                    told = self.suffers_alone(attack, "alice", other)
                    self.assertIn("integrity", told[other].values())

    def test_swapped_partitions_of_two_accounts_are_reported(self):
        """Two partitions swapped, with heads and keys."""
        def attack(file):
            rows = {person: file.rows(self.partition[person]) for person in ("alice", "bob")}
            for person, other in (("alice", "bob"), ("bob", "alice")):
                file.delete(self.place(self.partition[person]))
                for row in rows[other]:
                    file.put(row, partition=self.partition[person])
        told = self.suffers_alone(attack, "alice", "bob", at_least=6)
        self.assertNotIn("alice-acme", told["bob"].values())
        self.assertNotIn("bob-globex", told["alice"].values())

    def test_row_of_another_kind_is_reported(self):
        kinds = self.kinds("alice")
        pairs = [(kind, other) for kind in kinds for other in kinds if kind != other]
        for kind, other in self.some(pairs):
            with self.subTest(kind=kind, other=other, seed=self.seed):
                def attack(file):
                    place, row = self.place(self.partition["alice"], other), file.rows(self.partition["alice"], kind)[0]
                    (there,) = file.rows(self.partition["alice"], other)[:1]
                    file.delete(place)
                    file.put(row, kind=other, **dict(zip(("id",), there[2:3])))
                self.suffers_alone(attack, "alice")

    # Old data put back

    def renewed(self) -> List[Any]:
        """Alice's rows at an earlier time; the file has changed since."""
        self.restore()
        with contextlib.closing(File(self.agent.state)) as file:
            old = file.rows(self.partition["alice"])
        self.agent.start()
        with self.agent.client(timeout=20) as client:
            client.call("token.refresh", {"account": "alice"})
            client.call("secret.put", {"account": "alice", "name": "draft", "value": "another"})
            client.call("stepUp.verify", {"account": "alice", "pin": PIN})
        self.agent.end()
        self.kept = os.path.join(self.directory(), "kept")
        for name in ("state", "home"):
            shutil.copytree(os.path.join(self.agent.directory, name), os.path.join(self.kept, name))
        return old

    def test_old_rows_of_a_whole_account_put_back_are_reported(self):
        """With the head, too: the vault's ledger finds what the head can't."""
        old = self.renewed()
        def attack(file):
            file.delete(self.place(self.partition["alice"]))
            for row in old:
                file.put(row)
        with self.attacked(attack, since=self.kept) as client:
            self.assertEqual(self.answers(client, "alice")["token.refresh"], "integrity")
            for person in ("bob", "carol"):
                self.assertEqual(self.answers(client, person), self.sound[person])

    def test_deleted_rows_of_a_whole_account_are_reported(self):
        def attack(file):
            file.delete(self.place(self.partition["alice"]))
        self.suffers_alone(attack, "alice", at_least=6)

    def test_old_row_put_back_is_reported(self):
        old = self.renewed()
        with contextlib.closing(File(os.path.join(self.kept, "state"))) as file:
            new = {row[1:3]: row for row in file.rows(self.partition["alice"])}
        changed = [row for row in old if new.get(row[1:3]) != row]
        self.assertGreaterEqual(len(changed), 5)
        for row in changed:
            with self.subTest(kind=row[1]):
                with self.attacked(lambda file: file.put(row), since=self.kept) as client:
                    told = self.answers(client, "alice")
                    self.assertIn("integrity", told.values())
                    for person in ("bob", "carol"):
                        self.assertEqual(self.answers(client, person), self.sound[person])

    # While the agent runs

    def test_row_changed_under_a_running_agent_is_reported_when_read(self):
        """Data in memory is still served; data read from the file is verified."""
        with self.attacked(lambda file: None) as client:
            self.assertEqual(self.answers(client, "alice"), self.sound["alice"])
            with contextlib.closing(File(self.agent.state)) as file:
                secrets = [cell for cell in file.cells("record", self.place(self.partition["alice"], CLIENT_SECRET))]
                for cell in secrets:
                    if cell.column == "row":
                        continue
                    for value in self.some(flips(cell.was, self.chance), 2):
                        with self.subTest(column=cell.column, value=value, seed=self.seed):
                            file.set(cell, value)
                            told = self.answers(client, "alice")
                            file.set(cell, cell.was)
                            self.assertEqual(told, {**self.sound["alice"], "secret.get": "integrity"})
                            self.assertEqual(self.answers(client, "bob"), self.sound["bob"])
                file.delete(self.place(self.partition["alice"], CLIENT_SECRET))
                self.assertEqual(self.answers(client, "alice"), {**self.sound["alice"], "secret.get": "integrity"})

    # The vault's records

    def test_changed_column_of_a_provider_affects_its_accounts_only(self):
        """Its accounts fail until it is repaired; those of the other provider work on."""
        for number, people in enumerate((("alice", "bob"), ("carol",))):
            def expect(attack):
                told = self.suffers_alone(attack, *people, at_least=4)
                for person in people:
                    self.assertEqual((told[person]["token.get"], told[person]["token.refresh"]), ("integrity",) * 2)
            self.each(expect, self.vault_row(PROVIDER, number), columns=self.columns_beside("kind"))

    def test_damaged_provider_can_be_added_again_at_its_issuer(self):
        place = self.vault_row(PROVIDER, 0)
        for attack in (lambda file: file.delete(place), lambda file: self.change(file, file.cells("record", place)[-1], b"x")):
            with self.attacked(attack) as client:
                self.refused(INTEGRITY, lambda: client.call("provider.get", {"provider": "practice"}))
                self.assertEqual([p["name"] for p in client.call("provider.list")["providers"]], ["second"])
                # Its accounts' tokens must not go to another server.
                self.refused(INVALID_PARAMS, lambda: add_provider(client, self.provider()))
                self.assertEqual(self.answers(client, "alice")["token.get"], "integrity")
                add_provider(client, self.idp)
                for person in self.accounts:
                    self.assertEqual(self.answers(client, person), self.sound[person])

    def test_changed_column_of_a_policy_affects_its_accounts_only(self):
        for number, (policy, people) in enumerate((("default", ("alice", "bob")), ("other", ("carol",)))):
            def expect(attack):
                with self.attacked(attack) as client:
                    self.assertIsNotNone(client, self.agent.log()[-300:])
                    for person in self.accounts:
                        now = {"authorization.check": "policyError"} if person in people else {}
                        self.assertEqual(self.answers(client, person), {**self.sound[person], **now})
                    self.refused(INTEGRITY, lambda: client.call("policy.get", {"name": policy}))
                    client.call("policy.set", {"name": policy, "policy": {"name": policy, **RULES}})
                    for person in people:
                        self.assertEqual(self.answers(client, person), self.sound[person])
            self.each(expect, self.vault_row(POLICY, number), columns=self.columns_beside("kind"))

    def of_another_kind(self, kinds: Tuple[int, ...], expect: Callable[..., None]) -> None:
        """Changes a provider's and a policy's kind, and checks the result."""
        for row, people in ((PROVIDER, ("alice", "bob")), (POLICY, ("alice", "bob"))):
            with contextlib.closing(File(self.origin.state)) as file:
                (cell,) = [cell for cell in file.cells("record", self.vault_row(row, 0)) if cell.column == "kind"]
            others = [kind for kind in kinds if kind != row]
            for other in others if ALL else [self.chance.choice(others)]:
                with self.subTest(kind=row, other=other, seed=self.seed):
                    expect(lambda file, cell=cell, other=other: self.change(file, cell, other), row, people)

    def test_provider_or_policy_of_a_kind_that_must_be_complete_closes_the_vault(self):
        """An extra record of a kind that must be complete."""
        kinds = (OUTBOX, TRUSTED_TIME, ERASURE, KEY_SLOT_NOTES, 1016, -1, 1 << 40, (1 << 63) - 1)
        self.of_another_kind(kinds, lambda attack, row, people: self.closes_the_vault(attack))

    def test_provider_or_policy_of_a_kind_that_answers_for_itself_affects_its_accounts_only(self):
        def expect(attack, row, people):
            with self.attacked(attack) as client:
                self.assertIsNotNone(client, self.agent.log()[-300:])
                told = {person: self.answers(client, person) for person in self.accounts}
            for person in set(self.accounts) - set(people):
                self.assertEqual(told[person], self.sound[person], f"{person} has nothing to do with it")
            for person in people:
                if row == PROVIDER:
                    self.assertEqual((told[person]["token.get"], told[person]["token.refresh"]), ("integrity",) * 2)
                else:
                    self.assertEqual(told[person], {**self.sound[person], "authorization.check": "policyError"})

        self.of_another_kind((PROVIDER, POLICY, CALLER_GRANT, ACTIVE), expect)

    def test_damaged_records_stay_damaged_after_a_root_key_rotation(self):
        def attack(file):
            for kind in (PROVIDER, POLICY):
                (cell,) = [cell for cell in file.cells("record", self.vault_row(kind, 0)) if cell.column == "sealed"]
                file.set(cell, cell.was[:-1])
            (cell,) = [cell for cell in file.cells("record", self.place(self.partition["bob"], GRANT))
                       if cell.column == "sealed"]
            file.set(cell, cell.was[:-1])

        def looks(client):
            self.assertEqual(self.answers(client, "carol"), self.sound["carol"])
            self.assertEqual(self.answers(client, "alice")["token.get"], "integrity")
            self.refused(INTEGRITY, lambda: client.call("policy.get", {"name": "default"}))

        with self.attacked(attack) as client:
            looks(client)
            client.call("agent.rotateRootKey")
            looks(client)
            self.agent.kill()
            os.remove(self.agent.socket)
            self.agent.start()
            looks(client)
            add_provider(client, self.idp)
            self.assertEqual(self.answers(client, "alice")["token.get"], self.accounts["alice"])
            self.assertEqual(self.answers(client, "bob")["token.get"], "integrity")

    def test_damaged_ledger_mark_answers_for_its_accounts_and_the_others_go_on(self):
        def people(mark):
            return [person for person in self.accounts if self.partition[person][0] % 64 == mark]

        with contextlib.closing(File(self.origin.state)) as file:
            marks = sorted({row[2][0] for row in file.rows(VAULT, MARK)} & {self.partition[p][0] % 64 for p in self.accounts})
        for mark in marks:
            where = f"{self.place(VAULT, MARK)} AND id = x'{mark:02x}'"
            self.each(
                lambda attack, mark=mark: self.suffers_alone(attack, *people(mark)), where,
                columns=[name for name in self.columns_beside("kind") if name != "id"])
            told = self.suffers_alone(lambda file, where=where: file.delete(where), *people(mark))
            for person in people(mark):
                self.assertEqual(told[person]["token.get"], "integrity")

    def test_damaged_record_of_the_active_account_answers_for_itself_until_another_is_chosen(self):
        def expect(attack):
            self.suffers_alone(attack, at_least=0)
            with self.attacked(attack) as client:
                self.refused(INTEGRITY, lambda: client.call("token.get", {"account": "@active"}))
                client.call("account.switch", {"account": "bob"})
                self.assertEqual(
                    client.call("token.get", {"account": "@active"})["account"], self.accounts["bob"])
                self.agent.end()
                self.agent.start()
                self.assertEqual(
                    client.call("token.get", {"account": "@active"})["account"], self.accounts["bob"])
        self.each(expect, self.place(VAULT, ACTIVE), columns=self.columns_beside("kind"))
        expect(lambda file: file.delete(self.place(VAULT, ACTIVE)))

    def test_deleted_note_of_the_tries_at_a_pin_gives_none_back_and_ends_none(self):
        def tries_left(client: Client) -> int:
            wrong = self.refused(
                STEP_UP_FAILED, lambda: client.call("stepUp.verify", {"account": "alice", "pin": "1111"}))
            return wrong.data["attemptsLeft"]

        kept = {"path": os.path.join(self.directory(), "backup"), "passphrase": "not-a-real-passphrase"}
        self.agent.start()
        with self.agent.client(timeout=20) as client:
            client.call("agent.backup", {**kept, "includeRefreshTokens": True})
            self.assertEqual(tries_left(client), 9)
        self.agent.end()
        spent = os.path.join(self.directory(), "spent")
        for name in ("state", "home"):
            shutil.copytree(os.path.join(self.agent.directory, name), os.path.join(spent, name))
        with self.attacked(lambda file: file.delete(self.place(VAULT, SPENT_TRIES)), since=spent) as client:
            self.assertEqual(tries_left(client), 8)
        # An account that leaves has its tries noted, too.
        with self.attacked(lambda file: file.delete(self.place(VAULT, SPENT_TRIES)), since=spent) as client:
            client.call("account.signOut", {"account": "alice", "mode": "offline"})
            client.call("account.forget", {"account": "alice"})
            client.call("agent.restore", kept)
            self.assertEqual(client.call("stepUp.status", {"account": "alice"})["attemptsLeft"], 9)

    def test_changed_column_of_a_vault_record_closes_the_vault(self):
        place = f"{self.place(VAULT)} AND kind NOT IN ({PROVIDER}, {ACTIVE}, {POLICY}, {MARK})"
        if not ALL:
            place += " AND row IN (SELECT min(row) FROM record GROUP BY partition, kind)"
        self.each(self.closes_the_vault, place)

    def test_deleted_or_added_vault_row_closes_the_vault(self):
        with contextlib.closing(File(self.origin.state)) as file:
            rows = list({row[1]: row for row in file.rows(VAULT) if row[1] not in (PROVIDER, ACTIVE, POLICY, MARK)}.values())
        for row in rows:
            with self.subTest(kind=row[1]):
                self.closes_the_vault(lambda file: file.delete(self.place(VAULT, row[1])))
                self.closes_the_vault(lambda file: file.put(row, id=b"another row's id"))
                self.closes_the_vault(lambda file: file.put(row, kind=999))

    # Other tables

    def test_changed_column_of_a_key_slot_closes_the_vault(self):
        columns = ["number", "parameters", "commitment", "keyEpoch", "wrappedRootKey"]
        self.each(self.closes_the_vault, "1", "keySlot", columns)

    def test_key_slot_with_another_protection_opens_nothing(self):
        def expect(attack):
            with self.attacked(attack) as client:
                if client is None:
                    self.assertEqual(self.agent.process.returncode, VAULT_CLOSED)
                else:
                    self.assertTrue(client.call("agent.status")["locked"])
                    self.refused(LOCKED, lambda: client.call("account.list"))
                    for params in ({}, {"passphrase": "anything"}):
                        with self.assertRaises(LanyardError):
                            client.call("agent.unlock", params)
        self.each(expect, "1", "keySlot", ["protection"])

    def test_missing_key_slots_make_no_new_vault(self):
        self.closes_the_vault(lambda file: file.ask("DELETE FROM keySlot"))

    def test_changed_database_id_closes_the_vault(self):
        self.each(lambda attack: self.closes_the_vault(attack, STORE_FAILED, VAULT_CLOSED), "1", "store", ["one", "databaseID"])

    def test_changed_schema_closes_the_vault(self):
        with contextlib.closing(File(self.agent.state)) as file:
            dropped = [f"DROP TABLE {name}" for name in file.tables()] + [f"DROP INDEX {name}" for name in file.indexes()]
        self.assertIn("DROP TABLE auditDecision", dropped)
        for sql in (*dropped, "ALTER TABLE record RENAME COLUMN sealed TO opened", "PRAGMA user_version = 0",
                    "PRAGMA user_version = 99", "PRAGMA user_version = -1", "PRAGMA application_id = 7"):
            with self.subTest(sql=sql):
                self.closes_the_vault(lambda file: file.ask(sql), STORE_FAILED, VAULT_CLOSED)

    def test_store_of_a_later_version_is_refused_with_the_way_back(self):
        self.closes_the_vault(lambda file: file.ask("PRAGMA user_version = 99"), VAULT_CLOSED)
        last = self.agent.log().strip().splitlines()[-1]
        self.assertIn("was written by a later version of the agent: it has format 99, and this version reads up to", last)
        self.assertIn("Nothing was changed. Install the later version again.", last)

    def test_duplicate_row_is_reported(self):
        """With another index in place of the unique one."""
        def attack(file):
            (row,) = file.rows(self.partition["alice"], GRANT)
            file.ask("DROP INDEX recordByKey")
            file.ask("CREATE INDEX recordByKey ON record (partition, kind, id)")
            file.put(row)
        with self.attacked(attack) as client:
            self.assertEqual(self.answers(client, "alice")["token.get"], "integrity")

    def test_trigger_in_the_schema_does_not_run(self):
        def attack(file):
            file.ask("CREATE TABLE told (what TEXT)")
            for event in ("INSERT", "UPDATE", "DELETE"):
                file.ask(f"CREATE TRIGGER t{event} AFTER {event} ON record BEGIN INSERT INTO told VALUES ('{event}'); END")
        self.suffers_alone(attack, at_least=0)
        with contextlib.closing(File(self.agent.state)) as file:
            self.assertEqual(file.ask("SELECT * FROM told"), [])

    # The audit log

    def audit_verified(self, attack) -> Any:
        with self.attacked(attack) as client:
            for person in self.accounts:
                self.assertEqual(self.answers(client, person), self.sound[person], f"{person} has no part in it")
            return client.call("audit.verify")

    def test_untouched_audit_log_is_intact(self):
        self.assertTrue(self.audit_verified(lambda file: None)["intact"])

    def test_changed_column_of_the_audit_log_is_reported(self):
        with contextlib.closing(File(self.origin.state)) as file:
            last = file.ask("SELECT max(sequence) FROM audit")[0][0]
        for row in sorted({1, last // 2, last}):
            self.each(lambda attack: self.assertFalse(self.audit_verified(attack)["intact"]), f"sequence = {row}", "audit")

    def test_shortened_or_lengthened_audit_log_is_reported(self):
        with contextlib.closing(File(self.origin.state)) as file:
            last = file.ask("SELECT max(sequence) FROM audit")[0][0]
        for sql in (f"DELETE FROM audit WHERE sequence = {last}", "DELETE FROM audit WHERE sequence = 1",
                    "DELETE FROM audit WHERE sequence = 3", "DELETE FROM audit",
                    "UPDATE audit SET sequence = sequence + 1000 WHERE sequence = 2",
                    f"INSERT INTO audit SELECT sequence + {last + 100}, keyEpoch, link, sealed FROM audit WHERE sequence = 1"):
            with self.subTest(sql=sql):
                self.assertFalse(self.audit_verified(lambda file: file.ask(sql))["intact"])

    def test_swapped_audit_rows_are_reported(self):
        def attack(file):
            file.ask("UPDATE audit SET sequence = -sequence WHERE sequence IN (2, 3)")
            file.ask("UPDATE audit SET sequence = 5 + sequence WHERE sequence < 0")
        self.assertFalse(self.audit_verified(attack)["intact"])


class Costs(AgentFixture):
    """The passphrase slot: its costs are stored beside it, and an attacker may lower them."""

    RIGHT = "correct horse battery staple"

    def setUp(self):
        self.agent = self.scene("--protection", "passphrase")
        with self.agent.client(timeout=20) as client:
            used = processor_seconds(self.agent.pid)
            client.call("agent.initialize", {"protection": "passphrase", "passphrase": self.RIGHT})
            self.right_seconds = processor_seconds(self.agent.pid) - used
        self.agent.end()

    @contextlib.contextmanager
    def slot(self, *, protection: str = "passphrase"):
        """The parameters of the slot, to be changed; then the agent runs again, locked."""
        with contextlib.closing(File(self.agent.state)) as file:
            ((number, was),) = file.ask("SELECT number, parameters FROM keySlot WHERE protection = ?", protection)
            changed = bytearray(was)
            yield changed
            file.ask("UPDATE keySlot SET parameters = ? WHERE number = ?", bytes(changed), number)
        self.agent.start()

    def refuses(self):
        before = self.resident_kb("VmHWM")
        with self.agent.client(timeout=20) as client:
            self.assertTrue(client.call("agent.status")["locked"])
            used = processor_seconds(self.agent.pid)
            with self.assertRaises(LanyardError) as caught:
                client.call("agent.unlock", {"passphrase": self.RIGHT})
            # Much higher costs are refused before they are paid.
            self.assertLess(processor_seconds(self.agent.pid) - used, 2 * self.right_seconds)
            self.assertIn(caught.exception.code, (INTEGRITY, UNLOCK_FAILED))
            self.assertTrue(client.call("agent.status")["locked"])
            self.refused(LOCKED, lambda: client.call("account.list"))
        self.assertIsNone(self.agent.process.poll())
        # A number in the file must not cause an allocation, certainly not of sixty-four gibibytes.
        self.assertLess(self.resident_kb("VmHWM") - before, 160 << 10)

    def resident_kb(self, name):
        with open(f"/proc/{self.agent.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(name))

    def test_right_passphrase_opens_an_untouched_slot(self):
        with self.slot():
            pass
        with self.agent.client(timeout=20) as client:
            self.assertFalse(client.call("agent.unlock", {"passphrase": self.RIGHT})["locked"])

    def test_lowered_or_raised_passphrase_costs_are_refused(self):
        passes, memory = slice(16, 24), slice(24, 32)
        for part, value in ((passes, 0), (passes, 1), (passes, 2), (passes, 17), (passes, 1 << 63), (passes, 2**64 - 1),
                            (memory, 0), (memory, 1 << 13), (memory, (64 << 20) - 1), (memory, (1 << 30) + 1),
                            (memory, 64 << 30), (memory, 1 << 63), (memory, 2**64 - 1), (passes, 4), (memory, 65 << 20)):
            with self.subTest(part=part, value=value):
                with self.slot() as parameters:
                    was, parameters[part] = bytes(parameters), value.to_bytes(8, "little")
                self.refuses()
                self.agent.end()
                with contextlib.closing(File(self.agent.state)) as file:
                    file.ask("UPDATE keySlot SET parameters = ?", was)

    def test_key_slot_parameters_of_another_length_are_refused(self):
        for length in (0, 1, 16, 31, 33, 4096):
            with self.subTest(length=length):
                with self.slot() as parameters:
                    was = bytes(parameters)
                    parameters[:] = (was * 200)[:length]
                self.refuses()
                self.agent.end()
                with contextlib.closing(File(self.agent.state)) as file:
                    file.ask("UPDATE keySlot SET parameters = ?", was)

    def test_key_slot_of_another_vault_opens_nothing(self):
        other = self.scene("--protection", "passphrase")
        with other.client(timeout=20) as client:
            client.call("agent.initialize", {"protection": "passphrase", "passphrase": "something else entirely"})
        other.end()
        with contextlib.closing(File(other.state)) as file:
            (theirs,) = file.ask("SELECT * FROM keySlot")
        with contextlib.closing(File(self.agent.state)) as file:
            file.ask("DELETE FROM keySlot")
            file.ask(f"INSERT INTO keySlot VALUES ({', '.join('?' * len(theirs))})", *theirs)
        self.agent.start()
        self.refuses()
        with self.agent.client(timeout=20) as client:
            with self.assertRaises(LanyardError):
                # The passphrase fits the slot, but the slot belongs to another store.
                client.call("agent.unlock", {"passphrase": "something else entirely"})
            self.assertTrue(client.call("agent.status")["locked"])


if __name__ == "__main__":
    unittest.main()
