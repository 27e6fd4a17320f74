"""What a user installs: the wheel and the source archive, and public names that are typed and documented.

The archives and the checks by others' tools need packages that `Tests/Programs/RealProvider/requirements.txt` lists.
Without them these tests say that they skip, unless LANYARD_REQUIRE_REAL=1 asks for them.
"""

import ast
import email
import glob
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from typing import Iterator, List, Tuple, Union

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(HERE))
TOOLS = os.path.join(ROOT, ".build", "real-provider")
SOURCES = os.path.join(HERE, "src")
MODULES = sorted(glob.glob(os.path.join(SOURCES, "lanyard", "**", "*.py"), recursive=True))

BUILD = """\
import sys
from setuptools import build_meta
place = sys.argv[1]
build_meta.build_sdist(place)
build_meta.build_wheel(place)
"""

USER = """\
import lanyard

def first_account(client: lanyard.Client) -> str:
    accounts = client.account.list().accounts
    return accounts[0].alias or accounts[0].id

async def bearer(client: lanyard.AsyncClient) -> str:
    token: lanyard.Token = await client.token.get(account="@active", minimum_lifetime_seconds=120)
    return f"{token.token_type} {token.access_token}"

def wait(client: lanyard.Client) -> None:
    with client.events(types=["session.expired"]) as events:
        for event in events:
            print(event.type, event.account)
    try:
        client.within(2).token.get(account="work")
    except lanyard.ReauthenticationRequired as error:
        print(error.reason, error.remedies, error.code)
"""

AUTH_USER = """\
import google.auth.transport.requests
import httpx
import keyring
import lanyard
import lanyard.auth.azure
import lanyard.auth.google
import lanyard.auth.httpx
import lanyard.auth.requests
from azure.core.credentials import SupportsTokenInfo, TokenCredential
from azure.core.credentials_async import AsyncTokenCredential

ORIGINS = ["https://api.example"]

def me(client: lanyard.Client) -> int:
    auth = lanyard.auth.httpx.LanyardAuth(client, "work", origins=ORIGINS, scopes=["profile"])
    with httpx.Client(auth=auth) as http:
        return http.get("https://api.example/me").status_code

async def me_too(client: lanyard.AsyncClient) -> int:
    auth = lanyard.auth.httpx.LanyardAuth(client, "work", origins="https://api.example")
    async with httpx.AsyncClient(auth=auth) as http:
        return (await http.get("https://api.example/me")).status_code

def azure(client: lanyard.Client) -> TokenCredential:
    return lanyard.auth.azure.LanyardCredential(client, "work")

def azure_info(client: lanyard.Client) -> str:
    return lanyard.auth.azure.LanyardCredential(client, "work").get_token_info("a").token

def azure_async(client: lanyard.AsyncClient) -> AsyncTokenCredential:
    return lanyard.auth.azure.AsyncLanyardCredential(client, "work")

def google_credentials(client: lanyard.Client) -> lanyard.auth.google.Credentials:
    return lanyard.auth.google.Credentials(client, "work", origins=ORIGINS).with_scopes(["a"])

def requests_auth(client: lanyard.Client) -> lanyard.auth.requests.LanyardAuth:
    return lanyard.auth.requests.LanyardAuth(client, "work", origins=ORIGINS)

def from_keyring() -> str:
    return keyring.get_password("lanyard", "work") or ""
"""

Documented = Union[ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef]


def public(module: ast.Module) -> Iterator[Tuple[str, Documented]]:
    """Public classes and functions, and the public methods of public classes."""
    for node in module.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_"):
            yield node.name, node
            for member in node.body if isinstance(node, ast.ClassDef) else []:
                if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)) and not member.name.startswith("_"):
                    yield f"{node.name}.{member.name}", member


class PublicNames(unittest.TestCase):
    def test_all_are_documented_and_typed(self) -> None:
        lacking: List[str] = []
        count = 0
        for path in MODULES:
            with open(path, encoding="utf-8") as file:
                module = ast.parse(file.read())
            for name, node in public(module):
                count += 1
                if not ast.get_docstring(node):
                    lacking.append(f"{name}: no documentation")
                if isinstance(node, ast.ClassDef):
                    continue
                told = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
                untyped = [argument.arg for argument in told if argument.annotation is None and argument.arg != "self"]
                if node.returns is None or untyped not in ([], ["cls"]):
                    lacking.append(f"{name}: not typed")
        self.assertEqual(lacking, [])
        self.assertGreater(count, 400)

    def test_each_generated_method_tells_arguments_result_and_errors(self) -> None:
        with open(os.path.join(HERE, "src", "lanyard", "_generated.py"), encoding="utf-8") as file:
            module = ast.parse(file.read())
        methods = [node for name, node in public(module) if "." in name]
        self.assertGreater(len(methods), 100)
        for method in methods:
            assert not isinstance(method, ast.ClassDef)
            text = ast.get_docstring(method) or ""
            arguments = [argument.arg for argument in method.args.kwonlyargs]
            wanted = [f"\n    {argument}: " for argument in arguments] + ["\nReturns:\n", "\nRaises:\n"]
            with self.subTest(method=method.name):
                self.assertEqual([part for part in wanted if part not in text], [])


class Tools(unittest.TestCase):
    """Tests with packages that the environment of the real provider has."""

    def setUp(self) -> None:
        self.place = tempfile.mkdtemp(prefix="lanyard-")
        self.addCleanup(shutil.rmtree, self.place)

    def needs(self, program: str) -> str:
        path = os.path.join(TOOLS, "bin", program)
        if not os.path.exists(path):
            if os.environ.get("LANYARD_REQUIRE_REAL") == "1":
                self.fail(f"there is no {path}")
            self.skipTest(f"there is no {program} in .build/real-provider")
        return path

    def run_tool(self, *command: str, cwd: str, **variables: str) -> str:
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **variables)
        done = subprocess.run(
            command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])
        return done.stdout


class Archives(Tools):
    def test_wheel_and_source_archive_hold_what_a_user_needs(self) -> None:
        python = self.needs("python")
        sources = os.path.join(self.place, "sources")
        shutil.copytree(HERE, sources, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "dist"))
        self.run_tool(python, "-c", BUILD, self.place, cwd=sources)
        [wheel] = glob.glob(os.path.join(self.place, "*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
            [entries] = [name for name in names if name.endswith(".dist-info/entry_points.txt")]
            self.assertIn("[keyring.backends]\nlanyard = lanyard.auth.keyring\n", archive.read(entries).decode())
            [licence] = [name for name in names if name.endswith("/LICENSE")]
            told = email.message_from_bytes(archive.read(metadata))
            with open(os.path.join(ROOT, "LICENSE"), "rb") as file:
                self.assertEqual(archive.read(licence), file.read())
        modules = {os.path.relpath(path, SOURCES) for path in MODULES}
        self.assertEqual(modules | {"lanyard/py.typed"}, {name for name in names if name.startswith("lanyard/")})
        classifiers = told.get_all("Classifier") or []
        self.assertIn("License :: OSI Approved :: Apache Software License", classifiers)
        self.assertIn("Typing :: Typed", classifiers)
        urls = {address.split(",")[0] for address in told.get_all("Project-URL") or []}
        self.assertEqual(urls, {"Homepage", "Documentation", "Source", "Changelog", "Issues"})
        [archived] = glob.glob(os.path.join(self.place, "*.tar.gz"))
        with tarfile.open(archived) as source:
            held = {name.partition("/")[2] for name in source.getnames()}
        self.assertLessEqual({"LICENSE", "README.md", "pyproject.toml", "src/lanyard/py.typed"}, held)


class Types(Tools):
    def setUp(self) -> None:
        super().setUp()
        self.mypy = self.needs("mypy")
        # As installed: not among the sources of the one who checks.
        site = os.path.join(self.place, "site")
        shutil.copytree(os.path.join(HERE, "src"), site, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        self.site = site

    def test_a_users_program_is_clean_under_strict_mypy(self) -> None:
        with open(os.path.join(self.place, "user.py"), "w", encoding="utf-8") as program:
            program.write(USER)
        cache = os.path.join(self.place, "cache")
        self.run_tool(
            self.mypy, "--strict", "--cache-dir", cache, "user.py", cwd=self.place, MYPYPATH=self.site
        )

    def test_a_program_with_other_libraries_is_clean_under_strict_mypy(self) -> None:
        with open(os.path.join(self.place, "user.py"), "w", encoding="utf-8") as program:
            program.write(AUTH_USER)
        cache = os.path.join(self.place, "cache")
        python = self.needs("python")
        # google-auth tells some of its types only, and keyring's none of its own accord.
        options = ["--strict", "--allow-untyped-calls", "--python-executable", python, "--cache-dir", cache]
        self.run_tool(self.mypy, *options, "user.py", cwd=self.place, MYPYPATH=self.site)

    def test_every_public_symbol_has_a_known_type(self) -> None:
        checker = self.needs("basedpyright")
        environment = os.path.join(self.place, "environment")
        packages = os.path.join(environment, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
        self.run_tool(sys.executable, "-m", "venv", "--without-pip", environment, cwd=self.place)
        shutil.copytree(os.path.join(self.site, "lanyard"), os.path.join(packages, "lanyard"))
        with open(os.path.join(packages, "libraries.pth"), "w", encoding="utf-8") as others:
            others.write("\n".join(glob.glob(os.path.join(TOOLS, "lib", "python*", "site-packages"))) + "\n")
        path = os.path.join(environment, "bin") + os.pathsep + os.environ["PATH"]
        told = self.run_tool(
            checker, "--verifytypes", "lanyard", "--ignoreexternal", cwd=self.place, PATH=path, VIRTUAL_ENV=environment
        )
        self.assertIn("Type completeness score: 100%", told)
        self.assertIn("Functions without docstring: 0", told)


if __name__ == "__main__":
    unittest.main()
