"""The store in somebody else's hands: every column of every table changed, rows moved, brought back, cut and added.

Whoever can write the file can not open what is in it. What they did is told: for the account whose rows they are, and
for that one alone; where the records are the vault's own, by an agent that does not start. Nothing that was changed is
built on, and no refresh token from it is sent.

Columns are taken from the schema as it is found, so that a new one is attacked as soon as it is there.
"""

import contextlib
import os
import random
import shutil
import sqlite3
import time
import unittest
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from house import Client, House, LanyardError, Provider, Scene, add_provider, import_account

INTEGRITY, UNLOCK_FAILED = 5002, 1008
STORE_FAILED, VAULT_CLOSED = 74, 76
ALL = os.environ.get("LANYARD_KILLS") == "all"
PIN, SECRET = "2468", "what-alice-keeps"

# The numbers of the sealed format (RecordKinds.swift).
HEAD, KEYS, PROFILE, GRANT, CLIENT_SECRET, STEP_UP, SNAPSHOT, PROVIDER, POLICY = 1, 2, 3, 4, 9, 11, 12, 16, 21
VAULT = bytes(16)

RULES = {
    "version": 1,
    "capabilities": {"badge.view": {"kind": "read", "sensitivity": "internal", "offlineWindowSeconds": 604800}},
}


class Cell(NamedTuple):
    """A column of a row."""

    table: str
    row: int
    column: str
    was: Any


class File:
    """The database of an agent that is down, or that runs; with nothing of what SQLite would have checked."""

    def __init__(self, state: str) -> None:
        self._connection = sqlite3.connect(os.path.join(state, "lanyard.sqlite"), isolation_level=None, timeout=5)
        self.ask("PRAGMA ignore_check_constraints = ON")

    def ask(self, sql: str, *values: Any) -> List[Any]:
        return self._connection.execute(sql, values).fetchall()

    def tables(self) -> List[str]:
        named = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        return [name for (name,) in self.ask(named)]

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
        """All but a row's own number, which says nothing."""
        return [name for name in self.columns(table) if (table, name) != ("record", "row")]

    def key(self, table: str) -> str:
        """By what a row is named: its number, or the first column of a table that has none."""
        without = "WITHOUT ROWID" in self.ask("SELECT sql FROM sqlite_schema WHERE name = ?", table)[0][0]
        return self.columns(table)[0] if without else "rowid"

    def set(self, cell: Cell, value: Any) -> None:
        changed = self._connection.execute(
            f"UPDATE {cell.table} SET {cell.column} = ? WHERE {self.key(cell.table)} = ?", (value, cell.row))
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

    def close(self) -> None:
        self._connection.close()


def flips(was: Any, chance: random.Random) -> List[Any]:
    """What somebody may make of a value: one bit of it, of the same kind; and numbers that fit nowhere."""
    if isinstance(was, bytes):
        if not was:
            return [b"\0"]
        places = {0, len(was) // 2, len(was) - 1} if ALL else {chance.randrange(len(was))}
        return [was[:at] + bytes([was[at] ^ 1 << chance.randrange(8)]) + was[at + 1:] for at in sorted(places)] + [
            was[:-1], was + b"\0"][: 2 if ALL else 1]
    if isinstance(was, str):
        return [chr(ord(was[0]) ^ 1) + was[1:] if was else "x", ""]
    return [was ^ 1, was + 1000, -1, 1 << 40, (1 << 63) - 1]


class Tampering(House):
    """alice (with a PIN and a kept secret) and bob at one provider, carol at another; one policy for each.

    The directories are kept as they were, and every attack begins with them.
    """

    @classmethod
    def setUpClass(cls):
        # Without rotation one sign-in serves all the attacks.
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
            cls.accounts = {person: import_account(client, cls.idp, person, alias=person) for person in ("alice", "bob")}
            token = cls.idp.post("sign-in", user="carol", client_id="confidential")["refresh_token"]
            cls.accounts["carol"] = client.call(
                "signIn.import", {"provider": "second", "refreshToken": token, "alias": "carol"})["account"]
            client.call("secret.put", {"account": "alice", "name": "draft", "value": SECRET})
            client.call("stepUp.enroll", {"account": "alice", "pin": PIN})
            # What waits to be revoked: one more record of the vault's own.
            import_account(client, cls.idp, "alice@globex", alias="gone")
            cls.idp.fault("answer", path="/revoke", status=503)
            client.call("account.signOut", {"account": "gone", "mode": "offline"})
        cls.origin.end()
        with contextlib.closing(File(cls.origin.state)) as file:
            cls.partition = cls.partitions_by_person(file)
        cls.sound = None

    @classmethod
    def partitions_by_person(cls, file: File) -> Dict[str, bytes]:
        """In the order in which they came: alice's first."""
        came = file.ask("SELECT partition FROM record WHERE partition != ? GROUP BY partition ORDER BY min(row)", VAULT)
        return dict(zip(("alice", "bob", "carol", "gone"), (partition for (partition,) in came)))

    def setUp(self):
        self.seed = int(os.environ.get("LANYARD_SEED", time.time_ns() % 1_000_000))
        self.chance = random.Random(self.seed)
        self.agent = Scene()
        self.addCleanup(self.agent.__exit__)
        self.restore()
        self.agent.start()
        with self.agent.client(timeout=20) as client:
            self.sound = {person: self.answers(client, person) for person in self.accounts}
        self.agent.end()
        for person, told in self.sound.items():
            self.assertNotIn("integrity", told.values(), person)

    def restore(self) -> None:
        for name in ("state", "home"):
            to = os.path.join(self.agent.directory, name)
            shutil.rmtree(to, ignore_errors=True)
            shutil.copytree(os.path.join(self.origin.directory, name), to)
        os.chmod(self.agent.state, 0o700)

    # What there is to ask of an account.

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
        """What is said of a person; `integrity` stands for that error, and other errors for themselves."""
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
    def attacked(self, attack: Callable[[File], None]):
        """After an attack on the agent while it was down: its exit status, or a client of it."""
        self.restore()
        with contextlib.closing(File(self.agent.state)) as file:
            attack(file)
        self.agent.start(wait=False)
        self.until(lambda: self.agent.process.poll() is not None or os.path.exists(self.agent.socket), "a start or an end")
        try:
            if self.agent.process.poll() is not None:
                yield None
            else:
                with self.agent.client(timeout=20) as client:
                    client.connect(wait_seconds=20)
                    yield client
        finally:
            if self.agent.process.poll() is None:
                self.agent.kill()
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.agent.socket)

    def suffers_alone(self, attack: Callable[[File], None], *people: str, at_least: int = 1) -> Dict[str, Any]:
        """The named people's answers are as they were or `integrity`; everybody else's are as they were."""
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
        """Changes each column of some rows, one at a time, and looks what comes of it."""
        with contextlib.closing(File(self.origin.state)) as file:
            cells = [cell for cell in file.cells(table, where) if cell.column in (columns or file.sealed_columns(table))]
        self.assertTrue(cells, f"no such rows: {table} {where}")
        for cell in cells:
            for value in flips(cell.was, self.chance):
                with self.subTest(table=table, row=cell.row, column=cell.column, value=value, seed=self.seed):
                    expect(lambda file, cell=cell, value=value: self.change(file, cell, value))

    def change(self, file: File, cell: Cell, value: Any) -> None:
        try:
            file.set(cell, value)
        except sqlite3.IntegrityError as error:
            self.skipTest(f"another row stands there already: {error}")

    def place(self, partition: bytes, kind: Optional[int] = None) -> str:
        more = "" if kind is None else f" AND kind = {kind}"
        return f"partition = x'{partition.hex()}'{more}"

    # The rows of an account

    def test_every_column_of_every_row_of_an_account(self):
        place = self.place(self.partition["alice"])
        self.each(lambda attack: self.suffers_alone(attack, "alice"), place)


if __name__ == "__main__":
    unittest.main()
