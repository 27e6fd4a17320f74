"""`lanyard export`: the audit log at rsyslog, at journald and at an OTLP receiver, each as its own reader shows it; and collectors
that hang, die, refuse and lie."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
import urllib.parse
import unittest.mock
from typing import Any, Dict, List, Optional, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "Integration")]

from agent_fixture import BIN, AgentFixture, Scene, add_provider, import_account  # noqa: E402
from forms import in_quick_form  # noqa: E402
from gate import Gate  # noqa: E402
from collectors import (  # noqa: E402
    PATIENCE_SECONDS, Journal, LogOnly, Receiver, Record, Rsyslog, entry, missing, program, until)

EXPORT = os.path.join(BIN, "lanyard-export")
LANYARD = os.path.join(BIN, "lanyard")
STRANGE = 'Alice\'s "mail" ]\\ \n日本'


class Exports(AgentFixture):
    def collector(self, collector: Any) -> Any:
        self.addCleanup(collector.close)
        return collector

    def receiver(self, **options: Any) -> Receiver:
        return self.collector(Receiver(**options))

    def log(self, *sequences: int, audit: Optional[Dict[str, Any]] = None) -> LogOnly:
        return self.collector(LogOnly([entry(sequence) for sequence in sequences], audit))

    def once(self, where: Any, *words: str, status: int = 0) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [EXPORT, *words, "--once", "--no-start"], env=where.environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def start(self, where: Any, *words: str, before: "List[str]" = []) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [*before, EXPORT, *words, "--no-start"], env=where.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        return process

    def end(self, process: "subprocess.Popen[str]", how: signal.Signals = signal.SIGTERM) -> str:
        if process.stderr is None or process.stderr.closed:
            return ""
        if process.poll() is None:
            process.send_signal(how)
        process.wait(PATIENCE_SECONDS)
        with process.stderr as told:
            return told.read()

    def status(self, where: Any) -> Dict[str, Dict[str, Any]]:
        done = subprocess.run(
            [EXPORT, "--status", "--json"], env=where.environment, capture_output=True, text=True, check=True)
        return {line["name"]: line for line in json.loads(done.stdout)["destinations"]}

    def certificate(self) -> Tuple[str, str]:
        """A certificate of this machine, and its key."""
        place = self.directory()
        key, certificate = os.path.join(place, "key"), os.path.join(place, "cert")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out",
             certificate, "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
            check=True, capture_output=True)
        return certificate, key

    def people(self, audit: Optional[Dict[str, Any]] = None) -> Scene:
        """An agent with Alice's account, and a client whose name says whose it is."""
        provider = self.provider()
        scene = self.scene(start=False)
        if audit is not None:
            place = os.path.join(scene.environment["XDG_CONFIG_HOME"], "lanyard")
            os.makedirs(place, 0o700)
            with open(os.path.join(place, "agent.json"), "w") as file:
                json.dump({"audit": audit}, file)
        scene.start()
        client = scene.client(timeout=PATIENCE_SECONDS)
        self.addCleanup(client.close)
        add_provider(client, provider)
        import_account(client, provider, "alice", alias="alice")
        client.call("agent.hello", {"client": {"name": STRANGE, "version": "1"}})
        client.call("grant.create", {"client": STRANGE, "accounts": ["alice"], "methods": ["token.get"]})
        client.call("rule.add", {"account": "alice", "pattern": "https://git.example/alice/*"})
        return scene

    def entries(self, scene: Scene) -> List[Dict[str, Any]]:
        with contextlib.closing(scene.client(timeout=PATIENCE_SECONDS)) as client:
            found: List[Dict[str, Any]] = client.call("audit.list", {"limit": 1000})["entries"]
            return found

    def assertAgree(self, records: List[Record], entries: List[Dict[str, Any]], names: bool) -> None:
        """The records are the entries, each once and in order, and name persons only if they may."""
        self.assertEqual([record.sequence for record in records], [found["sequence"] for found in entries])
        for record, found in zip(records, entries):
            self.assertEqual(record.event, found["event"])
            self.assertEqual(record.fields["outcome"], found["outcome"])
            self.assertEqual(record.fields.get("account"), found.get("account"))
            self.assertEqual(len(record.facts), len(found.get("facts", {})))
        self.assertEqual(len({record.identity for record in records}), len(records))
        text = repr(records).lower()
        if not names:
            for name in ("alice", "日本"):
                self.assertNotIn(name, text)


@in_quick_form(
    "test_otlp_receiver_gets_each_entry_once_and_in_order", "test_rsyslog_reads_structured_data",
    "test_journal_shows_structured_fields")
class AtTheirReaders(Exports):
    def test_otlp_receiver_gets_each_entry_once_and_in_order(self) -> None:
        scene, receiver = self.people(), self.receiver()
        self.once(scene, "otlp", receiver.url)
        entries = self.entries(scene)
        self.assertGreaterEqual(len(entries), 4)
        self.assertAgree(receiver.taken, entries, names=False)
        self.assertEqual(set(receiver.paths), {"/v1/logs"})
        self.assertNotIn(b"alice", b"".join(receiver.bodies).lower())
        # What came since, and nothing else.
        self.once(scene, "otlp", receiver.url)
        self.assertEqual(len(receiver.taken), len(entries))
        with contextlib.closing(scene.client(timeout=PATIENCE_SECONDS)) as client:
            client.call("account.signOut", {"account": "alice", "mode": "soft"})
        self.once(scene, "otlp", receiver.url)
        self.assertAgree(receiver.taken, self.entries(scene), names=False)
        self.assertEqual(self.status(scene)["otlp"]["exported"], len(receiver.taken))

    def test_names_go_along_where_the_configuration_says_so(self) -> None:
        receiver = self.receiver()
        scene = self.people({"names": True, "export": [{"to": "otlp", "url": receiver.url}]})
        self.once(scene)
        self.assertAgree(receiver.taken, self.entries(scene), names=True)
        self.assertIn(STRANGE, [record.fields.get("client") for record in receiver.taken])
        self.assertIn("alice", [record.fields.get("account_alias") for record in receiver.taken])
        self.assertIn("https://git.example/alice/*", [record.facts.get("pattern") for record in receiver.taken])

    def test_rsyslog_reads_structured_data(self) -> None:
        rsyslog = self.collector(Rsyslog())
        scene = self.people({"names": True})
        self.once(scene, "syslog", "--socket", rsyslog.socket)
        entries = self.entries(scene)
        until(lambda: len(rsyslog.lines) >= len(entries), "all entries at rsyslog")
        self.assertAgree(rsyslog.records, entries, names=True)
        # Only the control character is another one.
        self.assertIn(STRANGE.replace("\n", "\ufffd"), [record.fields.get("client") for record in rsyslog.records])
        line = rsyslog.lines[-1]
        self.assertEqual((line["program"], line["facility"]), ("lanyard", "10"))
        self.assertEqual(line["at"][:23], entries[-1]["at"][:23])
        self.assertEqual(line["message"].lstrip(), f"{entries[-1]['event']}: {entries[-1]['outcome']}")

    def test_rsyslog_gets_no_name_of_a_person(self) -> None:
        rsyslog, scene = self.collector(Rsyslog()), self.people()
        self.once(scene, "syslog", "--socket", rsyslog.socket)
        entries = self.entries(scene)
        until(lambda: len(rsyslog.lines) >= len(entries), "all entries at rsyslog")
        self.assertAgree(rsyslog.records, entries, names=False)
        self.assertEqual({line["host"] for line in rsyslog.lines}, {"-"})

    def test_journal_shows_structured_fields(self) -> None:
        for names in (False, True):
            with self.subTest(names=names):
                journal, scene = self.collector(Journal()), self.people({"names": names})
                self.once(scene, "journald", "--socket", journal.socket)
                entries = self.entries(scene)
                until(lambda: len(journal.entries) >= len(entries), "all entries in the journal")
                self.assertAgree(journal.records, entries, names)
                clients = [record.fields.get("client") for record in journal.records]
                self.assertEqual(STRANGE in clients, names)
                shown = journal.entries[-1]
                self.assertEqual(shown["LANYARD_AT"], entries[-1]["at"])
                self.assertIn(shown["PRIORITY"], ("4", "5", "6"))

    def test_large_value_reaches_the_journal_as_a_file_in_memory(self) -> None:
        journal = self.collector(Journal())
        if not journal.is_real:
            raise missing("a journald of its own (root, systemd)")
        log = self.log(audit={"names": True, "export": []})
        log.entries.append(entry(1, client="x" * 300_000))
        log.entries.append(entry(2, client="y" * 9_000_000))
        self.once(log, "journald", "--socket", journal.socket)
        until(lambda: journal.entries, "the entry in the journal")
        self.assertEqual(journal.records[0].fields["client"], "x" * 300_000)
        self.assertEqual(len(until(lambda: journal.records[1:], "the second entry")[0].fields["client"]), 9_000_000)

    def test_entries_follow_while_it_runs_and_the_lock_keeps_a_second_one_out(self) -> None:
        scene, receiver = self.people(), self.receiver()
        process = self.start(scene, "otlp", receiver.url)
        until(lambda: len(receiver.taken) == len(self.entries(scene)), "the first entries")
        second = self.once(scene, "otlp", receiver.url, status=2)
        self.assertIn("Another lanyard-export serves the destination otlp", second.stderr)
        self.assertTrue(self.status(scene)["otlp"]["running"])
        with contextlib.closing(scene.client(timeout=PATIENCE_SECONDS)) as client:
            for number in range(3):
                client.call("account.rename", {"account": receiver.taken[1].fields.get("account") or "alice", "alias": f"a{number}"})
                until(lambda: receiver.taken[-1].event == "account.rename", "the renaming")
        until(lambda: len(receiver.taken) == len(self.entries(scene)), "the last entries")
        self.assertEqual(self.end(process), "")
        self.assertEqual(process.returncode, 0)
        self.assertAgree(receiver.taken, self.entries(scene), names=False)
        self.assertFalse(self.status(scene)["otlp"]["running"])

    def test_locked_vault_is_waited_for(self) -> None:
        scene, receiver = self.people(), self.receiver()
        with contextlib.closing(scene.client(timeout=PATIENCE_SECONDS)) as client:
            client.call("agent.lock")
            process = self.start(scene, "otlp", receiver.url)
            until(lambda: "problem" in self.status(scene).get("otlp", {}), "the problem")
            self.assertEqual(receiver.bodies, [])
            client.call("agent.unlock")
            until(lambda: receiver.taken, "the entries")
        self.assertIn("locked", self.end(process))
        self.assertNotIn("problem", self.status(scene)["otlp"])

    def test_agent_that_starts_again_is_followed(self) -> None:
        scene, receiver = self.people(), self.receiver()
        process = self.start(scene, "otlp", receiver.url)
        until(lambda: len(receiver.taken) == len(self.entries(scene)), "the first entries")
        scene.kill()
        scene.start()
        with contextlib.closing(scene.client(timeout=PATIENCE_SECONDS)) as client:
            client.call("account.rename", {"account": "alice", "alias": "a"})
        until(lambda: receiver.taken[-1].event == "account.rename", "the renaming")
        self.end(process)
        self.assertAgree(receiver.taken, self.entries(scene), names=False)

    def test_several_destinations_of_the_configuration_are_served_at_once(self) -> None:
        receiver, other, rsyslog = self.receiver(), self.receiver(), self.collector(Rsyslog())
        other.answers = [(503, {})] * 1000
        scene = self.people({"export": [
            {"to": "otlp", "url": receiver.url}, {"to": "syslog", "socket": rsyslog.socket},
            {"to": "otlp", "name": "down", "url": other.url}]})
        done = subprocess.Popen(
            [LANYARD, "export", "--no-start"], env=scene.environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, done)
        count = len(self.entries(scene))
        until(lambda: len(receiver.taken) == count and len(rsyslog.lines) == count, "two collectors")

        def exported() -> Dict[str, int]:
            return {name: line.get("exported", 0) for name, line in self.status(scene).items()}

        # A cursor is written once its collector has answered.
        until(lambda: exported() == {"down": 0, "otlp": count, "syslog": count}, "both cursors")
        self.assertIn("answers 503", self.status(scene)["down"]["problem"])


@in_quick_form(
    "test_killed_between_sending_and_cursor_repeats_one_batch_with_its_sequences",
    "test_down_busy_and_broken_receivers_cost_nothing_but_time")
class CollectorsThatFail(Exports):
    def test_down_busy_and_broken_receivers_cost_nothing_but_time(self) -> None:
        receiver = self.receiver()
        log = self.log(*range(1, 1201))
        receiver.answers = [(500, {}), (429, {"Retry-After": "1"}), "reset"]
        began = time.monotonic()
        process = self.start(log, "otlp", receiver.url)
        until(lambda: len({record.sequence for record in receiver.taken}) == 1200, "all entries", 40)
        self.assertGreater(time.monotonic() - began, 1)
        told = self.end(process)
        # The connection ended after the receiver had the batch: a repeat, which its sequences tell.
        sequences = [record.sequence for record in receiver.taken]
        self.assertEqual(sequences, [*range(1, 501), *range(1, 1201)])
        self.assertEqual(len({record.identity for record in receiver.taken}), 1200)
        for words in ("answers 500", "answers 429", "ended before its answer", "goes on"):
            self.assertIn(words, told)

    def test_doctor_tells_a_destination_that_waits_and_one_that_is_not_served(self) -> None:
        receiver = self.receiver()
        scene = self.people({"export": [{"to": "otlp", "url": receiver.url}, {"to": "syslog", "socket": "/nowhere"}]})

        def found() -> Dict[str, str]:
            done = subprocess.run([LANYARD, "doctor", "--json"], env=scene.environment, capture_output=True, text=True)
            return {one["subject"]: one["severity"] + ": " + one["message"]
                    for one in json.loads(done.stdout)["findings"] if one["check"] == "auditExport"}

        self.assertEqual({name: told.split(":")[0] for name, told in found().items()}, {"otlp": "notice", "syslog": "notice"})
        process = self.start(scene)
        until(lambda: found().get("otlp", "").startswith("ok") and found()["syslog"].startswith("problem"), "both")
        self.assertIn("No daemon listens at /nowhere", found()["syslog"])
        self.end(process)
        self.assertIn("no `lanyard export` runs", found()["otlp"])

    def test_signal_ends_it_though_the_agent_hangs(self) -> None:
        scene = self.people({"export": [{"to": "syslog", "socket": "/nowhere"}]})
        os.kill(scene.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, scene.pid, signal.SIGCONT)
        process = self.start(scene)
        # It waits for the answer once its request lies in the agent's socket.
        time.sleep(0.3)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(5), 130)

    def test_nothing_listens_and_once_ends_with_5(self) -> None:
        log = self.log(1, 2)
        receiver = Receiver()
        receiver.close()
        done = self.once(log, "otlp", receiver.url, status=5)
        self.assertIn("refuses connections", done.stderr)
        for kind in ("journald", "syslog"):
            done = self.once(log, kind, "--socket", os.path.join(log.place, "none"), status=5)
            self.assertIn("No daemon listens", done.stderr)
        self.assertEqual({name: line.get("exported") for name, line in self.status(log).items()},
                         {"journald": None, "otlp": None, "syslog": None})

    def test_collectors_that_hang_are_given_up_after_ten_seconds(self) -> None:
        receiver, log, other = self.receiver(), self.log(1, 2), self.log(*range(1, 2001))
        receiver.answers = ["hang"]
        path = os.path.join(other.place, "deaf")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as deaf:
            deaf.bind(path)
            began = time.monotonic()
            hanging = self.start(log, "otlp", receiver.url, "--once")
            full = self.start(other, "syslog", "--socket", path, "--once")
            self.assertEqual((hanging.wait(PATIENCE_SECONDS), full.wait(PATIENCE_SECONDS)), (5, 5))
            self.assertLess(time.monotonic() - began, 18)
            self.assertIn("gave no answer in 10 s", self.end(hanging))
            self.assertIn("reads nothing", self.end(full))
            # What the socket took is not sent again.
            taken = self.status(other)["syslog"]["exported"]
            self.assertGreater(taken, 0)
            found = []
            deaf.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    found.append(deaf.recv(1 << 16))
            self.assertEqual(len(found), taken)
        receiver.let_go.set()
        self.once(log, "otlp", receiver.url)
        self.assertEqual([record.sequence for record in receiver.taken], [1, 2])

    def test_killed_between_sending_and_cursor_repeats_one_batch_with_its_sequences(self) -> None:
        receiver, log = self.receiver(), self.log(*range(1, 1101))
        receiver.answers = ["{}", "hang"]
        process = self.start(log, "otlp", receiver.url)
        self.assertTrue(receiver.hanging.wait(PATIENCE_SECONDS))
        self.end(process, signal.SIGKILL)
        receiver.let_go.set()
        self.assertEqual(self.status(log)["otlp"]["sequence"], 500)
        first = receiver.decoded(receiver.bodies[1])
        self.once(log, "otlp", receiver.url)
        again = receiver.decoded(receiver.bodies[2])
        self.assertEqual([record.identity for record in again], [record.identity for record in first])
        self.assertEqual([record.sequence for record in receiver.taken], [*range(1, 1101)])

    def test_daemon_that_starts_again_gets_the_rest(self) -> None:
        rsyslog, log = self.collector(Rsyslog()), self.log(1, 2, 3)
        process = self.start(log, "syslog", "--socket", rsyslog.socket)
        until(lambda: len(rsyslog.lines) == 3, "three entries")
        rsyslog.stop()
        os.path.exists(rsyslog.socket) and os.unlink(rsyslog.socket)
        log.entries.append(entry(4))
        os.utime(os.path.join(log.place, "state"))
        open(os.path.join(log.place, "state", "news"), "w").close()
        until(lambda: "problem" in self.status(log)["syslog"], "the problem")
        rsyslog.start()
        until(lambda: len(rsyslog.lines) == 4, "the fourth entry")
        self.end(process)
        self.assertEqual([record.sequence for record in rsyslog.records], [1, 2, 3, 4])

    def test_partial_success_is_told_and_counted(self) -> None:
        receiver, log = self.receiver(), self.log(1, 2, 3)
        receiver.answers = ['{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"too old\\u001b[2J"}}']
        done = self.once(log, "otlp", receiver.url)
        self.assertIn("refused 2 of 3 entries for good: too old", done.stderr)
        self.assertNotIn("\x1b", done.stderr)
        self.assertEqual((self.status(log)["otlp"]["exported"], self.status(log)["otlp"]["refused"]), (1, 2))

    def test_receiver_that_takes_small_batches_only_gets_small_ones(self) -> None:
        receiver, log = self.receiver(), self.log(*range(1, 301))
        receiver.most = 40
        self.once(log, "otlp", receiver.url)
        self.assertEqual([record.sequence for record in receiver.taken], [*range(1, 301)])
        self.assertLessEqual(max(receiver.batches), 40)

    def test_receiver_that_refuses_everything_drops_nothing(self) -> None:
        receiver, log = self.receiver(), self.log(*range(1, 9))
        receiver.most = 0
        done = self.once(log, "otlp", receiver.url, status=5)
        self.assertIn("can't read the entries: it answers 413", done.stderr)
        self.assertEqual(receiver.taken, [])
        self.assertNotIn("sequence", self.status(log)["otlp"])

    def test_entries_that_the_receiver_refuses_hold_up_no_others(self) -> None:
        """Also at the head of the log, in a row, and with a new process for each look at it."""
        receiver = self.receiver()
        receiver.poison = "tainted"
        log = self.collector(LogOnly([entry(n, facts={"capability": "tainted"} if n in (1, 2, 5) else {}) for n in range(1, 8)]))
        self.once(log, "otlp", receiver.url)
        self.assertEqual([record.sequence for record in receiver.taken if record.event == "authorization.check"], [3, 4, 6, 7])
        note = receiver.taken[0]
        self.assertEqual((note.event, note.sequence, note.facts),
                         ("audit.refused", 1, {"event": "authorization.check", "status": "400"}))
        status = self.status(log)["otlp"]
        self.assertEqual((status["exported"], status["refused"], status["waiting"]), (4, 3, 0))

    def test_wrong_credential_or_address_drops_nothing(self) -> None:
        for status, hint in ((401, "credential"), (403, "credential"), (404, "address"), (418, "address")):
            receiver, log = self.receiver(), self.log(1)
            receiver.answers = [(status, {})]
            self.assertIn(f"answers {status}. Check the {hint}.", self.once(log, "otlp", receiver.url, status=5).stderr)
            self.once(log, "otlp", receiver.url)
            self.assertEqual([record.sequence for record in receiver.taken], [1])

    def test_grant_that_shows_a_part_of_the_log_is_refused(self) -> None:
        receiver, log = self.receiver(), self.log(1)
        with unittest.mock.patch.dict(os.environ, {"LANYARD_GRANT_FILE": "/dev/null"}):
            done = self.once(log, "otlp", receiver.url, status=2)
        self.assertIn("shows only a part of the audit log", done.stderr)

    def test_redirect_is_not_followed(self) -> None:
        receiver, other, log = self.receiver(), self.receiver(), self.log(1)
        receiver.answers = [(307, {"Location": other.url + "/v1/logs"})]
        done = self.once(log, "otlp", receiver.url, status=5)
        self.assertIn("answers 307, which leads elsewhere", done.stderr)
        self.assertEqual(other.bodies, [])

    def test_decisions_that_left_the_log_are_counted_in_their_place(self) -> None:
        receiver, log = self.receiver(), self.log(1, 2, 7, 8)
        self.once(log, "otlp", receiver.url)
        self.assertEqual([record.event for record in receiver.taken],
                         ["authorization.check"] * 2 + ["audit.dropped"] + ["authorization.check"] * 2)
        told = receiver.taken[2]
        self.assertEqual((told.fields["count"], told.facts, told.sequence), ("4", {"first": "3", "last": "6"}, 6))
        status = self.status(log)["otlp"]
        self.assertEqual((status["exported"], status["dropped"], status["sequence"]), (4, 4, 8))


@in_quick_form("test_older_copy_of_the_log_is_told_and_not_sent_whole")
class LogsThatWentBack(Exports):
    def test_older_copy_of_the_log_is_told_and_not_sent_whole(self) -> None:
        receiver, log = self.receiver(), self.log(*range(1, 101))
        self.once(log, "otlp", receiver.url)
        # The store of 90 entries, and another history since.
        log.entries = [entry(number) for number in range(1, 91)] + [
            entry(number, at="2031-01-01T00:00:00.000Z") for number in range(91, 121)]
        done = self.once(log, "otlp", receiver.url)
        self.assertIn("no longer has what was exported up to entry 100", done.stderr)
        new = receiver.taken[100:]
        self.assertEqual((new[0].event, new[0].facts["from"]), ("audit.wentBack", "100"))
        after = int(new[0].facts["after"])
        self.assertTrue(70 <= after <= 90, after)
        self.assertEqual([record.sequence for record in new[1:]], [*range(after + 1, 121)])
        self.assertEqual({record.fields["log"] for record in new}, {"2"})
        self.assertEqual(len({record.identity for record in receiver.taken}), len(receiver.taken))
        self.once(log, "otlp", receiver.url)
        self.assertEqual(receiver.taken[100:], new)

    def test_new_store_is_exported_from_its_beginning_as_another_log(self) -> None:
        scene, receiver = self.people(), self.receiver()
        self.once(scene, "otlp", receiver.url)
        count = len(receiver.taken)
        scene.end()
        for name in os.listdir(scene.state):
            if name != "export":
                path = os.path.join(scene.state, name)
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        scene.forget_keyring()
        shutil.rmtree(os.path.join(scene.environment["XDG_CONFIG_HOME"], "lanyard"), ignore_errors=True)
        scene.start()
        with contextlib.closing(scene.client(timeout=PATIENCE_SECONDS)) as client:
            client.call("agent.status")
        self.once(scene, "otlp", receiver.url)
        new = receiver.taken[count:]
        self.assertEqual(new[0].event, "audit.wentBack")
        self.assertAgree(new[1:], self.entries(scene), names=False)

    def test_cursor_beyond_what_was_exported_is_damaged(self) -> None:
        receiver, log = self.receiver(), self.log(1, 2)
        self.once(log, "otlp", receiver.url)
        path = os.path.join(log.place, "state", "export", "otlp.cursor")
        with open(path) as file:
            cursor = json.load(file)
        for change in ({"sequence": 10**12}, {"sequence": 10**12, "checkpoints": []}):
            with open(path, "w") as file:
                json.dump({**cursor, **change}, file)
            self.assertIn("is not a cursor", self.once(log, "otlp", receiver.url, status=2).stderr)

    def test_damaged_cursor_ends_the_export_and_says_what_to_do(self) -> None:
        receiver, log = self.receiver(), self.log(1, 2)
        self.once(log, "otlp", receiver.url)
        path = os.path.join(log.place, "state", "export", "otlp.cursor")
        with open(path, "r+b") as file:
            file.truncate(20)
        done = self.once(log, "otlp", receiver.url, status=2)
        self.assertIn("is not a cursor that this program wrote", done.stderr)
        os.unlink(path)
        os.symlink("/etc/passwd", path)
        done = self.once(log, "otlp", receiver.url, status=1)
        self.assertIn("must be a plain file that belongs to you alone", done.stderr)
        self.assertEqual(len(receiver.taken), 2)


@in_quick_form(
    "test_headers_come_from_a_private_file_and_stand_in_no_argument", "test_receiver_that_the_pins_refuse_gets_no_token",
    "test_token_of_an_account_goes_along")
class Credentials(Exports):
    def test_headers_come_from_a_private_file_and_stand_in_no_argument(self) -> None:
        receiver, log = self.receiver(), self.log(1)
        path = os.path.join(log.place, "headers")
        with open(path, "w") as file:
            file.write("# of the collector\nAuthorization: Bearer not-a-real-token\nX-Scope-OrgID: 7\n")
        os.chmod(path, 0o644)
        done = self.once(log, "otlp", receiver.url, "--headers-file", path, status=2)
        self.assertIn("must be a plain file of yours that others can neither read nor write", done.stderr)
        os.chmod(path, 0o600)
        receiver.answers = ["hang"]
        process = self.start(log, "otlp", receiver.url, "--headers-file", path)
        self.assertTrue(receiver.hanging.wait(PATIENCE_SECONDS))
        self.assertEqual((receiver.heads[0]["authorization"], receiver.heads[0]["x-scope-orgid"]), ("Bearer not-a-real-token", "7"))
        # Its environment is root's to read.
        for name in ("cmdline", "environ") if os.geteuid() == 0 else ("cmdline",):
            with open(f"/proc/{process.pid}/{name}", "rb") as file:
                self.assertNotIn(b"not-a-real-token", file.read())
        self.assertNotIn("not-a-real-token", self.end(process))

    def test_token_of_an_account_goes_along(self) -> None:
        scene, receiver = self.people(), self.receiver()
        origin = receiver.url.partition("/v1")[0]
        with contextlib.closing(scene.client(timeout=PATIENCE_SECONDS)) as client:
            provider = client.call("account.get", {"account": "alice"})["provider"]
            client.call("provider.update", {"provider": provider, "allowedOrigins": ["https://api.example"]})
        # It will never work, so a timer that tries again after 5 does not.
        done = self.once(scene, "otlp", receiver.url, "--account", "alice", status=6)
        # The command keeps what was allowed.
        self.assertIn(
            f"`lanyard provider update {provider} --allowed-origin https://api.example --allowed-origin {origin}`", done.stderr)
        self.assertEqual(receiver.heads, [])
        with contextlib.closing(scene.client(timeout=PATIENCE_SECONDS)) as client:
            client.call("provider.update", {"provider": provider, "allowedOrigins": ["https://api.example", origin]})
        self.once(scene, "otlp", receiver.url, "--account", "alice")
        with contextlib.closing(scene.client(timeout=PATIENCE_SECONDS)) as client:
            token = client.call("token.get", {"account": "alice"})["accessToken"]
        self.assertEqual(receiver.heads[0]["authorization"], f"Bearer {token}")
        self.assertNotIn(token.encode(), b"".join(receiver.bodies))

    def test_receiver_that_the_pins_refuse_gets_no_token(self) -> None:
        """As `request.send`: plain HTTP proves no key, so that no pin matches."""
        scene, receiver = self.people(), self.receiver()
        place = urllib.parse.urlsplit(receiver.url)
        with contextlib.closing(scene.client(timeout=PATIENCE_SECONDS)) as client:
            provider = client.call("account.get", {"account": "alice"})["provider"]
            client.call("token.get", {"account": "alice"})
            client.call("provider.update", {
                "provider": provider, "allowedOrigins": [f"http://{place.netloc}"],
                "pins": {place.hostname: ["sha256/" + letter * 42 + "A=" for letter in "BC"]}})
        done = self.once(scene, "otlp", receiver.url, "--account", "alice", status=5)
        self.assertIn("can't be trusted: no pinned key is the server's", done.stderr)
        self.assertEqual(receiver.heads, [])

    def test_https_receiver_is_verified_by_the_named_authority(self) -> None:
        certificate, key = self.certificate()
        receiver, log = self.receiver(certificate=(certificate, key)), self.log(1)
        done = self.once(log, "otlp", receiver.url, status=5)
        self.assertIn("can't be trusted", done.stderr)
        self.assertEqual(receiver.bodies, [])
        self.once(log, "otlp", receiver.url, "--ca-file", certificate)
        self.assertEqual(len(receiver.taken), 1)

    def test_url_without_tls_goes_to_this_machine_only(self) -> None:
        log = self.log(1)
        for url in ("http://logs.example", "ftp://127.0.0.1", "logs"):
            self.assertIn("not an https URL", self.once(log, "otlp", url, status=2).stderr)


@in_quick_form(
    "test_enforced_authorities_come_before_those_of_the_destination",
    "test_enforced_proxy_is_taken_whatever_the_environment_says")
class Enforced(Exports):
    """What the administrator enforces counts for a destination without an account, too: its headers may hold a credential."""

    def scene(self, *options: str, start: bool = True) -> Scene:
        system = os.path.join(os.path.realpath(self.directory()), "system")
        os.mkdir(system, 0o755)
        self.pair = self.certificate()
        self.door, self.other = Gate(), Gate()
        self.addCleanup(self.door.close)
        self.addCleanup(self.other.close)
        path = os.path.join(system, "agent.json")
        with open(path, "w") as file:
            json.dump({"enforced": {"proxy": self.door.address, "caFile": self.pair[0]}}, file)
        os.chmod(path, 0o644)
        return super().scene("--system-directory", system, *options, start=start)

    def test_enforced_proxy_is_taken_whatever_the_environment_says(self) -> None:
        scene = self.people()
        scene.environment.update({"NO_PROXY": "*", "no_proxy": "far.invalid", "https_proxy": self.other.address})
        self.once(scene, "otlp", "https://far.invalid/v1/logs", status=5)
        self.assertEqual((self.door.asked, self.other.asked), (["CONNECT far.invalid:443 HTTP/1.1"], []))

    def test_enforced_authorities_come_before_those_of_the_destination(self) -> None:
        scene, other = self.people(), self.certificate()
        receiver, false = self.receiver(certificate=self.pair), self.receiver(certificate=other)
        self.once(scene, "otlp", receiver.url, "--ca-file", other[0])
        self.assertGreater(len(receiver.taken), 0)
        done = self.once(scene, "otlp", false.url, "--name", "false", "--ca-file", other[0], status=5)
        self.assertIn("can't be trusted", done.stderr)
        self.assertEqual(false.bodies, [])


@in_quick_form()
class Disks(Exports):
    def test_full_disk_for_the_cursor_stops_the_export_until_there_is_room(self) -> None:
        if os.geteuid() != 0:
            raise missing("a file system of its own (root)")
        receiver, log = self.receiver(), self.log(*range(1, 1101))
        place = os.path.join(log.place, "state", "export")
        os.mkdir(place, 0o700)
        script = ('mount -t tmpfs -o size=16k,mode=700 tmpfs "$1" && head -c 32 /dev/urandom > "$1/key" && chmod 600 "$1/key" && '
                  'for n in 1 2 3 4 5 6; do head -c 4096 /dev/zero > "$1/f$n" 2> /dev/null; done; shift; '
                  '(sleep 2; rm "$0"/f*) & exec "$@"')
        process = subprocess.Popen(
            [program("unshare", "util-linux"), "--mount", "--propagation", "private", "sh", "-c", script, place, place, EXPORT, "otlp",
             receiver.url, "--no-start"], env=log.environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        until(lambda: len(receiver.taken) == 500, "the first batch")
        time.sleep(1)
        self.assertEqual(len(receiver.taken), 500)
        until(lambda: len(receiver.taken) == 1100, "all entries")
        self.assertEqual([record.sequence for record in receiver.taken], [*range(1, 1101)])


if __name__ == "__main__":
    unittest.main()
