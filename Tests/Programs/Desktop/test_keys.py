"""Real programs and libraries with a key as the account: they get it from a helper, from a variable, or never."""

import os
import unittest

from desktop_fixture import LANYARD, Desktop, Request, Response, certificates, program, python_packages
from forms import in_quick_form
from services import bare_repository, chat_completion, git_backend, message, npm_registry

VARIABLE = "SERVICE_API_KEY"


class WithGit(Desktop):
    """git over HTTPS with a personal access token, by `lanyard credential git`."""

    def setUp(self):
        super().setUp()
        self.folder = os.path.join(self.place, "server")
        bare_repository(os.path.join(self.folder, "app.git"))
        self.host = self.server(self.answer)

    def answer(self, request: Request) -> Response:
        if not (request.basic and self.is_good(request.token)):
            return Response(401, b"", [("WWW-Authenticate", 'Basic realm="git"')])
        return git_backend(request, self.folder)

    def test_git_pushes_and_clones_with_a_key_as_password(self):
        key = self.key(self.host.origin)
        self.rule(self.host.origin, "key")
        script = """
            set -e
            git init -q -b main made && cd made && echo spring > notes && git add notes
            git -c user.name=a -c user.email=a@b.c commit -qm first
            git -c credential.helper="$2" push -q "$1/app.git" main
            cd .. && git -c credential.helper="$2" clone -q "$1/app.git" cloned && cat cloned/notes
        """
        ran = self.tool(
            "sh", "-c", script, "-", self.host.origin, f"!{LANYARD} credential git", GIT_TERMINAL_PROMPT="0",
            GIT_SSL_CAINFO=certificates().authority)
        self.assertEqual(ran.stdout, "spring\n", ran.stderr)
        self.assertEqual(self.host.tokens(), [key])
        self.assertEqual({request.basic[0] for request in self.host.requests if request.basic}, {"x-access-token"})


@in_quick_form()
class WithNPM(Desktop):
    """npm with a registry that wants a token, which `.npmrc` takes from a variable."""

    def setUp(self):
        super().setUp()
        self.npm = program("npm", "npm")
        self.registry = self.server(self.answer)

    def answer(self, request: Request) -> Response:
        if not self.is_good(request.bearer):
            return Response.json({"error": "a token, please"}, 401)
        return npm_registry(request, self.registry.origin)

    def test_npm_installs_with_a_key_from_a_variable(self):
        key = self.key(self.registry.origin, environment=["NPM_TOKEN"])
        self.write("project/package.json", {"name": "project", "version": "1.0.0"})
        self.write("project/.npmrc", (
            f"registry={self.registry.origin}/npm/\n//{self.registry.place}/npm/:_authToken=${{NPM_TOKEN}}\naudit=false\nfund=false\n"
            "update-notifier=false\n"))
        self.tool(
            LANYARD, "exec", "key", "--", self.npm, "--prefix", os.path.join(self.place, "project"), "install", "spring",
            NODE_EXTRA_CA_CERTS=certificates().authority)
        with open(os.path.join(self.place, "project", "node_modules", "spring", "index.js"), encoding="utf-8") as file:
            self.assertIn("spring", file.read())
        self.assertEqual(self.registry.tokens(), [key])


class Library:
    """A library of a service: with the key in a variable, and with a placeholder behind the proxy. A subclass has `script`,
    which prints `spring`, and `answered`, what its service says."""

    script = ""
    placement = {"in": "header"}
    def setUp(self):
        super().setUp()
        self.python = os.path.join(python_packages("agents"), "python")
        self.service = self.server(lambda request: self.answered)
        self.secret = self.key(self.service.origin, environment=[VARIABLE], placement=self.placement)

    def received(self):
        """The key of each request."""
        return [request.bearer for request in self.service.requests]

    def assertWorks(self, *before):  # noqa: N802
        ran = self.tool(LANYARD, "exec", *before, "--", self.python, "-c", self.script, self.service.origin)
        self.assertEqual(ran.stdout, "spring\n", ran.stderr)
        self.assertEqual(set(self.received()), {self.secret})

    def test_the_key_is_in_a_variable(self):
        self.assertWorks("key")

    def test_behind_the_proxy_it_never_has_the_key(self):
        self.assertWorks("--proxy", "-u", "key")


class WithOpenAI(Library, Desktop):
    script = f"""if True:
        import os, sys, openai
        with openai.OpenAI(api_key=os.environ["{VARIABLE}"], base_url=sys.argv[1] + "/v1") as client:
            asked = [{{"role": "user", "content": "Which season is it?"}}]
            print(client.chat.completions.create(model="small", messages=asked).choices[0].message.content)
    """
    answered = chat_completion("spring")


class WithAnthropic(Library, Desktop):
    script = f"""if True:
        import os, sys, anthropic
        with anthropic.Anthropic(api_key=os.environ["{VARIABLE}"], base_url=sys.argv[1]) as client:
            asked = [{{"role": "user", "content": "Which season is it?"}}]
            print(client.messages.create(model="small", max_tokens=9, messages=asked).content[0].text)
    """
    placement = {"in": "header", "name": "X-Api-Key", "format": "{secret}"}
    answered = message("spring")

    def received(self):
        # The library sends it as a bearer token; behind the proxy it stands where the provider says.
        return [request.bearer or request.headers.get("X-Api-Key") for request in self.service.requests]

    def test_behind_the_proxy_it_never_has_the_key(self):
        super().test_behind_the_proxy_it_never_has_the_key()
        self.assertEqual({request.headers.get("X-Api-Key") for request in self.service.requests}, {self.secret})
        # Without it the service answers nothing.
        self.assertTrue(all(request.headers.get("anthropic-version") for request in self.service.requests))


@in_quick_form()
class WithStripe(Library, Desktop):
    """The library trusts a list of authorities of its own, so that it is told of the run's."""

    script = f"""if True:
        import os, sys, stripe
        stripe.ca_bundle_path = os.environ["SSL_CERT_FILE"]
        client = stripe.StripeClient(os.environ["{VARIABLE}"], base_addresses={{"api": sys.argv[1]}})
        print(client.v1.customers.retrieve("cus_1").name)
    """
    answered = Response.json({"id": "cus_1", "object": "customer", "name": "spring"})


if __name__ == "__main__":
    unittest.main()
