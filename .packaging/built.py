"""The programs that `make release` has built, as `make install` installs them: their files, version and time."""

import glob
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def settle():
    """What is made must not depend on who makes it: language, time zone, home, umask, directory."""
    os.chdir(ROOT)
    # HOME: the programs look at no file of the person who builds.
    os.environ.update(LC_ALL="C.UTF-8", TZ="UTC", HOME="/nonexistent")
    # Without their home git does not know that they trust a checkout of another user, as CI's is.
    os.environ.update(GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="safe.directory", GIT_CONFIG_VALUE_0=ROOT)
    os.umask(0o022)


def install(place):
    """What `make install` installs, into PLACE/usr. With SUDO_USER it builds nothing."""
    run("make", "--no-print-directory", "install", "SUDO_USER=nobody", f"DESTDIR={place}", "PREFIX=/usr")
    manual = run(".packaging/debian/manual-page-of-demo", f"{place}/usr/bin")
    with open(f"{place}/usr/share/man/man1/lanyard-demo.1", "w") as file:
        file.write(manual)


def program_files(tree):
    """The paths of the programs of a tree that `install` made, without links to them."""
    found = glob.glob(f"{tree}/bin/*") + glob.glob(f"{tree}/libexec/lanyard/*")
    return sorted(path for path in found if not os.path.islink(path))


def version(tree):
    """That of the programs, if HEAD has its tag; else one that is older (PEP 440, Developmental releases)."""
    own = run(f"{tree}/bin/lanyard", "--version").strip()
    others = {f"{name} --version": run(f"{tree}/bin/{name}", "--version").split()[-1] for name in ("lanyard-agent",)}
    others["VERSION of Clients/python"] = client_version()
    for what, told in others.items():
        if told != own:
            raise SystemExit(f"`lanyard --version` is {own}, {what} is {told}: a release has one version.")
    if os.environ.get("PACK_VERSION"):
        return os.environ["PACK_VERSION"]
    tags = run("git", "tag", "--points-at", "HEAD").split()
    return own if f"v{own}" in tags else f"{own}.dev{committed('%cd')}+g{committed('%h')}"


def client_version():
    names = {}
    with open("Clients/python/src/lanyard/_settings.py") as file:
        for line in file:
            if line.startswith("VERSION"):
                exec(line, names)
    return names["VERSION"]


def epoch():
    """The time of what is made, in seconds since 1970: SOURCE_DATE_EPOCH, by default that of the last commit."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or committed("%ct"))


def level():
    """The level of compression: PACK_LEVEL, 1 to 9, by default the smallest result. 1 is for a test that is in a hurry."""
    return int(os.environ.get("PACK_LEVEL") or 9)


def committed(form):
    return run("git", "log", "-1", "--date=format-local:%Y%m%d%H%M%S", f"--format={form}").strip()


def run(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"packaging: {' '.join(words)}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout
