"""Writes a wheel (PEP 427) whose bytes follow from its files alone."""

import base64
import hashlib
import os
import time
import zipfile

# zip has no earlier time.
FIRST_TIME = 315532800


class Wheel:
    """The files of a wheel by their names in the archive. It is written in order of the names, with the same time for each."""

    def __init__(self, name, version, tag, epoch, level):
        """`epoch` is the time of the files, in seconds since 1970, and `level` that of the compression, 1 to 9."""
        self.stem = f"{name}-{version}"
        self.version = version
        self.tag = tag
        self.epoch = epoch
        self.level = level
        self.files = {}

    def add(self, name, content, executable=False):
        assert name not in self.files, name
        self.files[name] = (content, executable)

    def add_file(self, name, path):
        """Adds a file; it can be executed if its owner may execute it."""
        with open(path, "rb") as file:
            self.add(name, file.read(), bool(os.stat(path).st_mode & 0o100))

    def add_information(self, name, text):
        self.add(f"{self.stem}.dist-info/{name}", text.encode())

    def data(self, scheme, name):
        """The name in the archive of a file that pip puts below a directory of the environment: `scripts`, `data`."""
        return f"{self.stem}.data/{scheme}/{name}"

    def write(self, directory):
        """Returns the path of the wheel."""
        record = f"{self.stem}.dist-info/RECORD"
        rows = [f"{name},sha256={digest(content)},{len(content)}" for name, (content, _) in sorted(self.files.items())]
        self.add(record, "\n".join(rows + [f"{record},,", ""]).encode())
        os.makedirs(directory, exist_ok=True)
        path = os.path.join(directory, f"{self.stem}-{self.tag}.whl")
        draft = path + ".part"
        moment = time.gmtime(max(self.epoch, FIRST_TIME))[:6]
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
            # The metadata stand last, so that they can be read from the end (PEP 427, Recommended archiver features).
            for name in sorted(self.files, key=lambda name: (".dist-info/" in name, name)):
                content, executable = self.files[name]
                member = zipfile.ZipInfo(name, moment)
                member.create_system = 3
                member.external_attr = (0o100755 if executable else 0o100644) << 16
                member.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(member, content, compresslevel=self.level)
        os.replace(draft, path)
        return path


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
