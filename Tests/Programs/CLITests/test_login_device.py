"""Signing in on another device: the code, the QR code, and the time that is left."""

import json
import re
import threading
import time

import qr_reader
from fake_agent import Error
from people import WORK
from test_login import SignIns

PAGE = "https://idp.example/device"
CODE = "BDWP-HQPK"
COMPLETE = f"{PAGE}?user_code={CODE}"


def begun(**changes):
    end = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + 600))
    answer = {"signIn": "sgn_2", "flow": "device", "verificationUri": PAGE, "verificationUriComplete": COMPLETE,
              "userCode": CODE, "expiresAt": end, "intervalSeconds": 5, **changes}
    return {name: value for name, value in answer.items() if value is not None}


class DeviceTests(SignIns):
    def shown(self, size=(50, 80), environment=None, **changes):
        """The screen of a terminal while the command waits for the person."""
        agent = self.sign_ins(begun=begun(**changes), **{"signIn.wait": lambda *_: threading.Event().wait(30)})
        screen = self.on_terminal(
            "login", "idp", "--device", size=size, environment=environment, interrupt_after="Waiting until")
        self.assertEqual(screen.code, 130)
        agent.close()
        return screen.text

    def test_without_a_terminal_there_are_plain_lines(self):
        agent = self.sign_ins(begun=begun())
        done = self.lanyard("login", "idp", "--device", "--alias", "work")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            done.stdout, "Signed in: Alice Example <alice@acme.example> at idp, tenant acme, account work.\n")
        self.assertEqual(agent.params("signIn.begin"), {"provider": "idp", "flow": "device", "alias": "work"})
        self.assertEqual(done.stderr, f"""On any device, open

  {PAGE}

and enter the code  {CODE}

Or open this, and compare the code:

  {COMPLETE}

Waiting until you have signed in, for another 10 min. Ctrl-C gives up.
""")

    def test_json(self):
        answer = begun()
        self.sign_ins(begun=answer)
        done = self.lanyard("login", "idp", "--device", "--json")
        self.assertEqual((json.loads(done.stdout), json.loads(done.stderr)), (WORK, answer))

    def test_a_terminal_shows_all_of_it(self):
        text = self.shown()
        self.assertIn(f"\n  {PAGE}\n", text)
        self.assertIn(f"\x1b[1m{CODE}\x1b[0m", text)
        self.assertIn("\u2588\u2580\u2580\u2580\u2584", text)  # the top of a large B
        self.assertEqual(qr_reader.read(qr_reader.drawn(text)), COMPLETE)
        self.assertRegex(text, r"you have signed in: (10:00|9:5\d) left")
        self.assertTrue(all(len(line) <= 80 for line in re.split("[\r\n]", re.sub(r"\x1b\[[0-9;]*[mK]", "", text))))

    def test_every_length_can_be_scanned(self):
        for length in (14, 15, 26, 27, 42, 43, 62, 63, 84, 85, 106, 107, 122, 123, 152, 153, 180, 181, 213):
            address = (COMPLETE + "&" + "x-%7E9Z" * 40)[:length]
            with self.subTest(length=length):
                text = self.shown(size=(60, 80), verificationUriComplete=address)
                self.assertEqual(qr_reader.read(qr_reader.drawn(text)), address)

    def test_a_longer_one_is_an_address_only(self):
        address = COMPLETE + "&" + "x" * 180
        text = self.shown(verificationUriComplete=address)
        self.assertNotIn(qr_reader.COLOURS, text)
        self.assertIn(address, text)

    def test_without_an_address_that_has_the_code(self):
        text = self.shown(verificationUriComplete=None)
        self.assertEqual(qr_reader.read(qr_reader.drawn(text)), PAGE)
        self.assertNotIn("compare", text)

    def test_a_small_screen_shows_what_fits_on_it(self):
        text = self.shown(size=(24, 80))
        self.assertEqual(qr_reader.read(qr_reader.drawn(text)), COMPLETE)
        self.assertIn(f"open {PAGE} and enter the code \x1b[1m{CODE}", text)
        self.assertLess(text.count("\n"), 24)
        text = self.shown(size=(20, 40))
        self.assertNotIn(qr_reader.COLOURS, text)
        self.assertIn(f"  \x1b[1m{CODE}", text)

    def test_without_colours_it_can_still_be_scanned(self):
        text = self.shown(environment={"NO_COLOR": "1"})
        self.assertNotIn("\x1b[1m", text)
        self.assertNotIn("\x1b[38", text)
        self.assertEqual(qr_reader.read(qr_reader.drawn_without_colours(text)), COMPLETE)

    def test_control_characters_of_a_provider_are_replaced(self):
        text = self.shown(userCode="AB\x1b[2JCD", verificationUriComplete=None)
        self.assertIn("AB\ufffd[2JCD", text)

    def test_the_remaining_time_counts_down(self):
        text = self.shown(expiresAt=time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + 75)))
        self.assertRegex(text, r"signed in: 1:1\d left")

    def test_an_expired_code_ends_the_sign_in(self):
        self.sign_ins(begun=begun(), **{"signIn.wait": Error(2007, "signInFailed", "The sign-in expired.", reason="expired")})
        told = self.lanyard("login", "idp", "--device")
        self.assertEqual((told.returncode, told.stdout), (4, ""))
        self.assertIn("Reason: expired.", told.stderr)

    def test_a_provider_without_device_sign_in(self):
        refusal = Error(2007, "signInFailed", "This provider offers no sign-in by device code.", reason="flowUnsupported")
        self.sign_ins(**{"signIn.begin": refusal})
        self.assertIn("no sign-in by device code", self.refused(4, "login", "idp", "--device"))

    def test_ctrl_c_cancels_at_the_agent(self):
        agent = self.sign_ins(begun=begun(), **{"signIn.wait": lambda *_: threading.Event().wait(30)})
        screen = self.on_terminal("login", "idp", "--device", interrupt_after="Waiting until")
        self.assertEqual(screen.code, 130)
        self.assertIn(("signIn.cancel", {"signIn": "sgn_2"}), agent.calls)
