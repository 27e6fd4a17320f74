"""Mail programs with the real agent: mbsync, msmtp and curl at a Dovecot that asks the provider about each token.

Each program gets the token from `lanyard token work`. It tells no helper that the server refused the token, so the agent
learns of that only from `lanyard token --force`. The account, not a URL, is named in its configuration: what keeps the
token from a wrong host is that the program checks the certificate first.
"""

import base64
import contextlib
import grp
import imaplib
import os
import pwd
import shutil
import signal
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]

from desktop_fixture import PATIENCE_SECONDS, Desktop, certificates, program  # noqa: E402
from loopback import accepts, free_ports  # noqa: E402
from forms import in_quick_form  # noqa: E402

MAILBOX = "alice"
"""The person's name at the practice provider, which Dovecot takes for the mailbox."""

MESSAGE = "From: bob@globex.example\nTo: alice@acme.example\nSubject: pump 17\n\nThe seal is worn.\n"


class Lines(socketserver.ThreadingTCPServer):
    """A server on loopback that answers line by line, as `answers(line)` says, and keeps what it read."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, greeting, answers, certificate=None):
        self.read, self.connections, self.errors = [], 0, []
        server = self

        class Handler(socketserver.StreamRequestHandler):
            def setup(self):
                server.connections += 1
                if certificate is not None:
                    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                    context.load_cert_chain(*certificate)
                    self.request = context.wrap_socket(self.request, server_side=True)
                super().setup()

            def finish(self):
                super().finish()
                self.request.close()

            def handle(self):
                self.wfile.write(greeting)
                for line in self.rfile:
                    server.read.append(line)
                    self.wfile.write(answers(line))

        super().__init__(("127.0.0.1", 0), Handler)
        self.port = self.server_address[1]
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def handle_error(self, request, client_address):
        # A client that refuses the certificate, or goes.
        self.errors.append(sys.exc_info()[1])

    def credentials(self):
        """What was read in Base64, as one text."""
        told = []
        for word in b" ".join(self.read).split():
            with contextlib.suppress(ValueError):
                told.append(base64.b64decode(word, validate=True).decode())
        return "\n".join(told)

    def stop(self):
        self.shutdown()
        self._thread.join()
        self.server_close()


def imap_recorder(certificate):
    """An IMAP server that refuses every sign-in and keeps what it was sent."""

    def answers(line):
        tag, word = (line.split() + [b"", b""])[:2]
        if word.upper() == b"CAPABILITY":
            return b"* CAPABILITY IMAP4rev1 SASL-IR AUTH=XOAUTH2 AUTH=OAUTHBEARER\r\n" + tag + b" OK\r\n"
        return tag + b" NO refused\r\n"

    return Lines(b"* OK [CAPABILITY IMAP4rev1 SASL-IR AUTH=XOAUTH2 AUTH=OAUTHBEARER] ready\r\n", answers, certificate)


def smtp_recorder(certificate):
    """A submission server that refuses every sign-in and keeps what it was sent."""

    def answers(line):
        words = line.upper().split()
        if words[:1] == [b"EHLO"]:
            return b"250-there\r\n250 AUTH XOAUTH2 OAUTHBEARER\r\n"
        if words[:1] == [b"AUTH"] and len(words) == 2:
            return b"334 \r\n"
        return b"535 5.7.8 refused\r\n"

    return Lines(b"220 there ESMTP\r\n", answers, certificate)


def smtp_sink():
    """The next mail server, which takes every message."""
    in_message = threading.Event()

    def answers(line):
        word = line.strip().upper()
        if in_message.is_set():
            if line != b".\r\n":
                return b""
            in_message.clear()
            return b"250 taken\r\n"
        if word == b"DATA":
            in_message.set()
            return b"354 go on\r\n"
        return b"221 bye\r\n" if word == b"QUIT" else b"250 there\r\n"

    return Lines(b"220 sink ESMTP\r\n", answers)


class Dovecot:
    """IMAP and submission over TLS. Each sign-in asks the provider's introspection endpoint about the token."""

    def __init__(self, introspection, certificate, relay_port, app_password=None):
        # Dovecot's own users go through this directory, so it can't be one of the test's private directories.
        self.place = tempfile.mkdtemp(prefix="lanyard-dovecot-")
        os.chmod(self.place, 0o755)
        self.program = program("dovecot", "dovecot-imapd dovecot-submissiond")
        self.imap, self.submission = free_ports(2)
        self.log = os.path.join(self.place, "log")
        mail = os.path.join(self.place, "mail")
        os.mkdir(mail)
        is_root = os.geteuid() == 0
        owner = pwd.getpwnam("nobody") if is_root else pwd.getpwuid(os.geteuid())
        os.chown(mail, owner.pw_uid, owner.pw_gid)
        self.maildir = os.path.join(mail, MAILBOX, "Maildir")
        users = "" if is_root else f"""
            default_internal_user = {owner.pw_name}
            default_internal_group = {grp.getgrgid(owner.pw_gid).gr_name}
            default_login_user = {owner.pw_name}
            service anvil {{
              chroot =
            }}
            service imap-login {{
              chroot =
            }}
            service submission-login {{
              chroot =
            }}
        """
        self._write("conf", f"""
            {self._accounts(introspection, certificate, owner, mail, app_password)}
            base_dir = {self.place}/run
            log_path = {self.log}
            auth_verbose = yes
            listen = 127.0.0.1
            protocols = imap submission
            hostname = mail.acme.example
            ssl = required
            auth_mechanisms = xoauth2 oauthbearer{" plain" if app_password else ""}
            auth_failure_delay = 0
            service anvil {{
              unix_listener anvil-auth-penalty {{
                mode = 0
              }}
            }}
            first_valid_uid = 1
            service imap-login {{
              inet_listener imap {{
                port = 0
              }}
              inet_listener imaps {{
                port = {self.imap}
                ssl = yes
              }}
            }}
            service submission-login {{
              inet_listener submission {{
                port = 0
              }}
              inet_listener submissions {{
                port = {self.submission}
                ssl = yes
              }}
            }}
            submission_relay_host = 127.0.0.1
            submission_relay_port = {relay_port}
            submission_relay_ssl = no
            {users}
        """)
        self.process = subprocess.Popen(
            [self.program, "-F", "-c", os.path.join(self.place, "conf")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)

    def _accounts(self, introspection, certificate, owner, mail, app_password):
        """The certificate, who may sign in and where the mail is, in the words of this Dovecot: 2.4 has its own."""
        parts = urllib.parse.urlsplit(introspection)
        url = f"{parts.scheme}://confidential:practice-secret@{parts.netloc}{parts.path}"
        told = subprocess.run([self.program, "--version"], check=True, capture_output=True, text=True).stdout
        version = told.replace("-", " ").split()[0]
        if tuple(map(int, version.split("."))) < (2, 4):
            self._write("oauth2", f"""
                introspection_mode = post
                introspection_url = {url}
                force_introspection = yes
                active_attribute = active
                active_value = true
                username_attribute = username
                timeout_msecs = 5000
            """)
            passwords = "" if app_password is None else f"""
                passdb {{
                  driver = static
                  mechanisms = plain
                  args = password={app_password}
                }}
            """
            return f"""
                ssl_cert = <{certificate[0]}
                ssl_key = <{certificate[1]}
                mail_location = maildir:~/Maildir
                passdb {{
                  driver = oauth2
                  mechanisms = xoauth2 oauthbearer
                  args = {self.place}/oauth2
                }}
                {passwords}
                userdb {{
                  driver = static
                  args = uid={owner.pw_uid} gid={owner.pw_gid} home={mail}/%n
                }}
            """
        passwords = "" if app_password is None else f"""
            passdb static {{
              passdb_mechanisms_filter = plain
              password = {app_password}
            }}
        """
        return f"""
            dovecot_config_version = {version}
            dovecot_storage_version = {version}
            ssl_server_cert_file = {certificate[0]}
            ssl_server_key_file = {certificate[1]}
            mail_driver = maildir
            mail_path = ~/Maildir
            oauth2 {{
              introspection_mode = post
              introspection_url = {url}
              force_introspection = yes
              active_attribute = active
              active_value = true
              username_attribute = username
              http_client_request_absolute_timeout = 5s
            }}
            {passwords}
            userdb static {{
              fields {{
                uid = {owner.pw_uid}
                gid = {owner.pw_gid}
                home = {mail}/%{{user | username}}
              }}
            }}
        """

    def _write(self, name, text):
        with open(os.open(os.path.join(self.place, name), os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write("\n".join(line.strip() for line in text.splitlines()) + "\n")

    def is_ready(self):
        """Raises with Dovecot's words if it ended."""
        if self.process.poll() is not None:
            raise RuntimeError(self.process.stderr.read().decode() + self.told())
        return accepts(self.imap) and accepts(self.submission)

    def told(self):
        if not os.path.exists(self.log):
            return ""
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def stop(self):
        # Its processes have this group. On SIGTERM the master would wait for its children's last seconds.
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE_SECONDS)
        self.process.stderr.close()
        shutil.rmtree(self.place, ignore_errors=True)


class Mail(Desktop):
    """Alice's mailbox at a Dovecot that knows no other password than a token of the provider."""

    app_password = None
    """One that it knows as well."""

    def setUp(self):
        super().setUp()
        self.link("lanyard")
        trusted = certificates()
        self.right = trusted.certificate, trusted.key
        self.sink = smtp_sink()
        self.addCleanup(self.sink.stop)
        self.dovecot = Dovecot(f"{self.idp.issuer}/introspect", self.right, self.sink.port, self.app_password)
        self.addCleanup(self.dovecot.stop)
        self.until(self.dovecot.is_ready, "Dovecot accepts connections")

    def sign_ins(self):
        """How often a server asked the provider about a token."""
        return self.idp.asked("/introspect")

    def deliver(self):
        """Puts the message into Alice's mailbox, as a mail server does."""
        home = os.path.dirname(self.dovecot.maildir)
        owner = os.stat(os.path.dirname(home))
        made = [home, self.dovecot.maildir, *(os.path.join(self.dovecot.maildir, name) for name in ("cur", "new", "tmp"))]
        for folder in made:
            os.mkdir(folder)
        path = os.path.join(self.dovecot.maildir, "new", "1.acme")
        with open(path, "w", encoding="utf-8") as file:
            file.write(MESSAGE)
        for each in [*made, path]:
            os.chown(each, owner.st_uid, owner.st_gid)

    def impostor(self):
        """A certificate for localhost that no authority issued."""
        certificate, key = os.path.join(self.place, "impostor.pem"), os.path.join(self.place, "impostor.key")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-keyout", key, "-out", certificate, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
            check=True, capture_output=True, timeout=PATIENCE_SECONDS)
        return certificate, key


class Rows:
    """The five rows of each mail program. `use` runs it once, `shows_mail` looks at what it did."""

    def use(self, port=None, status=0):
        raise NotImplementedError

    def test_it_works(self):
        asked, exchanges = self.sign_ins(), self.exchanges()
        self.shows_mail(self.use())
        self.assertEqual((self.sign_ins(), self.exchanges()), (asked + 1, exchanges))

    def test_a_token_that_expires_in_a_long_run_is_refreshed_once(self):
        first = self.short_lived(2)
        exchanges = self.exchanges()
        self.shows_mail(self.use())
        self.ended(first)
        for _ in range(3):
            self.shows_mail(self.use())
        self.assertEqual(self.exchanges(), exchanges + 1)
        self.assertNotEqual(self.token(), first)

    def test_a_refused_token_causes_no_refresh_until_the_person_asks(self):
        """The program can't tell a helper of the refusal: the agent refreshes once, on `lanyard token --force`."""
        self.revoke(self.token())
        asked, exchanges = self.sign_ins(), self.exchanges()
        for _ in range(2):
            self.is_refused()
        self.assertEqual((self.sign_ins(), self.exchanges()), (asked + 2, exchanges))
        self.lanyard("token", "work", "--force")
        self.assertEqual(self.exchanges(), exchanges + 1)
        self.shows_mail(self.use())

    def is_refused(self):
        """Runs the program, whose token the server refuses."""
        self.use(status=None)

    def test_a_wrong_host_gets_nothing(self):
        """A server with a certificate that is not trusted reads no byte; with the right one the same server gets the token."""
        recorder = self.recorder(self.right)
        self.addCleanup(recorder.stop)
        self.use(recorder.port, status=None)
        self.assertIn(f"auth=Bearer {self.token()}\x01", recorder.credentials())
        impostor = self.recorder(self.impostor())
        self.addCleanup(impostor.stop)
        ran = self.use(impostor.port, status=None)
        self.assertGreater(impostor.connections, 0)
        self.assertEqual(impostor.read, [])
        self.assertRegex(ran.stderr, self.about_the_certificate)

    def test_a_signed_out_account_names_what_to_do(self):
        asked = self.sign_ins()
        self.sign_out()
        ran = self.use(status=None)
        self.assertIn("Sign in again: `lanyard login --account work`.", ran.stderr)
        self.assertRegex(ran.stderr, self.own_error)
        self.assertEqual(self.sign_ins(), asked, "a sign-in without a token reached the server")


@in_quick_form("test_it_works")
class WithMbsync(Rows, Mail):
    """isync's mbsync with the SASL module kdexoauth2, which knows XOAUTH2."""

    own_error = r"(?m)^Skipping account work, PassCmd exited with status 4$"
    about_the_certificate = r"(?i)certificate"
    recorder = staticmethod(imap_recorder)

    def setUp(self):
        super().setUp()
        self.deliver()

    def command(self, port=None):
        box = os.path.join(self.place, "box")
        os.makedirs(box, exist_ok=True)
        return program("mbsync", "isync libsasl2-modules-kdexoauth2"), "-a", "-c", self.write("mbsyncrc", f"""
SyncState *

IMAPAccount work
Host localhost
Port {port or self.dovecot.imap}
SSLType IMAPS
SystemCertificates no
CertificateFile {certificates().authority}
User {MAILBOX}
PassCmd "lanyard token work"
AuthMechs XOAUTH2

IMAPStore there
Account work

MaildirStore here
Path {box}/
Inbox {box}/inbox

Channel mail
Far :there:
Near :here:
Patterns INBOX
Create Near
Sync Pull
""")

    def use(self, port=None, status=0):
        return self.tool(*self.command(port), status=status)

    def is_refused(self):
        """mbsync 1.4 tells the refusal, and then waits for the server, which waits for mbsync: the test ends it."""
        with subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                env=self.environment()) as process:
            patience = threading.Timer(PATIENCE_SECONDS, process.kill)
            patience.start()
            told = next((line for line in process.stderr if line.startswith("Error: ")), "no error")
            process.kill()
            patience.cancel()
        self.assertEqual(told, "Error: IMAP wants more steps despite successful SASL authentication.\n")

    def shows_mail(self, _):
        new = os.path.join(self.place, "box", "inbox", "new")
        (name,) = os.listdir(new)
        with open(os.path.join(new, name), encoding="utf-8") as file:
            self.assertIn("Subject: pump 17\n", file.read())
        os.remove(os.path.join(new, name))
        for state in (".mbsyncstate", ".uidvalidity"):
            os.remove(os.path.join(self.place, "box", "inbox", state))


@in_quick_form("test_it_works")
class WithMsmtp(Rows, Mail):
    """msmtp by XOAUTH2 at Dovecot's submission service, which hands the message on."""

    method = "xoauth2"
    own_error = r"(?m)^msmtp: "
    about_the_certificate = r"(?i)certificate"
    recorder = staticmethod(smtp_recorder)

    def use(self, port=None, status=0):
        self.taken = len(self.sink.read)
        ran = self.tool(program("msmtp", "msmtp"), "-C", self.write("msmtprc", f"""
account work
host localhost
port {port or self.dovecot.submission}
tls on
tls_starttls off
tls_trust_file {certificates().authority}
auth {self.method}
user {MAILBOX}
passwordeval "lanyard token work"
from alice@acme.example
account default : work
"""), "bob@globex.example", input=MESSAGE, status=status)
        if status is None:
            self.assertEqual(self.sink.read[self.taken:], [])
        return ran

    def shows_mail(self, _):
        self.assertIn(b"Subject: pump 17\r\n", self.sink.read[self.taken:])


class WithMsmtpByOAuthBearer(WithMsmtp):
    """msmtp by OAUTHBEARER (RFC 7628), with short tokens.

    msmtp 1.8 sends this mechanism's whole string in the line of AUTH, and Dovecot refuses a line as long as a JWT makes it
    (RFC 4954, section 4). With XOAUTH2 msmtp sends the string in a line of its own.
    """

    method = "oauthbearer"

    def provider(self, *options):
        return super().provider("--opaque", *options)


@in_quick_form("test_it_works", "test_a_wrong_host_gets_nothing")
class WithCurl(Rows, Mail):
    """curl at IMAP, with the token in a configuration that curl reads from a pipe: it stands in no argument."""

    script = """
        token=$(lanyard token work) &&
        printf 'user = "%s"\\noauth2-bearer = "%s"\\n' "$1" "$token" |
          curl --silent --show-error --cacert "$2" --config - "imaps://localhost:$3/INBOX" --request 'STATUS INBOX (MESSAGES)'
    """
    # curl is not started: the token is missing before.
    own_error = r"^lanyard: This account is signed out\."
    about_the_certificate = r"curl: \(60\)"
    recorder = staticmethod(imap_recorder)

    def setUp(self):
        super().setUp()
        program("curl", "curl")
        self.deliver()

    def use(self, port=None, status=0):
        return self.tool(
            "sh", "-c", self.script, "sh", MAILBOX, certificates().authority, str(port or self.dovecot.imap), status=status)

    def shows_mail(self, ran):
        self.assertEqual(ran.stdout.strip(), "* STATUS INBOX (MESSAGES 1)")


class ByHand(Mail):
    """The string of `lanyard credential xoauth2`, as a mail program sends it after AUTHENTICATE."""

    def sign_in(self, mechanism, *words):
        said = self.lanyard("credential", "xoauth2", "-u", "work", "--mechanism", mechanism, *words).stdout
        context = ssl.create_default_context(cafile=certificates().authority)
        with imaplib.IMAP4_SSL("localhost", self.dovecot.imap, ssl_context=context, timeout=PATIENCE_SECONDS) as server:
            server.authenticate(mechanism.upper(), lambda _: base64.b64decode(said))
            return server.select("INBOX")[0]

    def test_both_strings_sign_in_at_dovecot(self):
        self.assertEqual(self.sign_in("xoauth2", "--user", MAILBOX), "OK")
        port = str(self.dovecot.imap)
        self.assertEqual(self.sign_in("oauthbearer", "--user", MAILBOX, "--host", "localhost", "--port", port), "OK")

    def test_a_token_opens_no_other_mailbox(self):
        for mechanism in ("xoauth2", "oauthbearer"):
            with self.assertRaisesRegex(imaplib.IMAP4.error, "AUTHENTICATIONFAILED|Authentication failed"):
                self.sign_in(mechanism, "--user", "bob")


class WithAnAppPassword(Mail):
    """curl at IMAP, with an app password from `lanyard credential password`."""

    app_password = "abcd-efgh-ijkl-mnop"

    script = """
        password=$(lanyard credential password -u key) &&
        printf 'user = "%s:%s"\\n' "$1" "$password" |
          curl --silent --show-error --cacert "$2" --config - "imaps://localhost:$3/INBOX" --request 'STATUS INBOX (MESSAGES)'
    """

    def test_the_app_password_opens_the_mailbox(self):
        program("curl", "curl")
        self.deliver()
        self.key("https://localhost", secret=self.app_password)
        ran = self.tool("sh", "-c", self.script, "sh", MAILBOX, certificates().authority, str(self.dovecot.imap))
        self.assertEqual(ran.stdout.strip(), "* STATUS INBOX (MESSAGES 1)")
        self.assertEqual(self.sign_ins(), 0)


if __name__ == "__main__":
    unittest.main()
