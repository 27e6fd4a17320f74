"""Writes a container image (OCI image layout) whose bytes follow from its files alone."""

import gzip
import hashlib
import io
import json
import os
import tarfile


class Layer:
    """Files, directories and links by their paths, without the leading slash. All belong to root but those with an owner."""

    def __init__(self, epoch):
        self.epoch = epoch
        self.members = {}

    def add(self, path, content, executable=False):
        self.member(path, tarfile.REGTYPE, 0o755 if executable else 0o644, content)

    def add_file(self, path, source):
        with open(source, "rb") as file:
            self.add(path, file.read(), bool(os.stat(source).st_mode & 0o100))

    def add_directory(self, path, owner=0, mode=0o755):
        self.member(path, tarfile.DIRTYPE, mode, owner=owner)

    def add_link(self, path, target):
        self.member(path, tarfile.SYMTYPE, 0o777, target=target)

    def member(self, path, kind, mode, content=b"", owner=0, target=""):
        assert path not in self.members, path
        # A directory stands before what is in it.
        above = os.path.dirname(path)
        if above and above not in self.members:
            self.add_directory(above)
        information = tarfile.TarInfo(path)
        information.type, information.mode, information.mtime = kind, mode, self.epoch
        information.uid = information.gid = owner
        information.size, information.linkname = len(content), target
        self.members[path] = (information, content)

    def bytes(self):
        """The layer as a tar archive."""
        target = io.BytesIO()
        with tarfile.open(fileobj=target, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for _, (information, content) in sorted(self.members.items()):
                archive.addfile(information, io.BytesIO(content))
        return target.getvalue()


class Layout:
    """An image of layers, as one archive that `podman load`, `docker load` and skopeo (`oci-archive:`, `docker-archive:`)
    read."""

    def __init__(self, epoch, architecture, level):
        """`architecture` is amd64 or arm64, and `level` that of the compression, 1 to 9."""
        self.architecture, self.level = architecture, level
        self.archive = Layer(epoch)
        self.archive.add("oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())
        self.layers, self.diffs, self.history = [], [], []

    def blob(self, content, media):
        digest = "sha256:" + hashlib.sha256(content).hexdigest()
        self.archive.add(self.place(digest), content)
        return {"mediaType": media, "digest": digest, "size": len(content)}

    @staticmethod
    def place(digest):
        """Where a blob stands in the archive."""
        return "blobs/" + digest.replace(":", "/")

    def json_blob(self, value, media):
        return self.blob(json.dumps(value, sort_keys=True, separators=(",", ":")).encode(), media)

    def add_layer(self, layer, what):
        content = layer.bytes()
        self.diffs.append("sha256:" + hashlib.sha256(content).hexdigest())
        packed = io.BytesIO()
        # Without a name and a time in the head.
        with gzip.GzipFile(filename="", mode="wb", compresslevel=self.level, fileobj=packed, mtime=0) as file:
            file.write(content)
        self.layers.append(self.blob(packed.getvalue(), "application/vnd.oci.image.layer.v1.tar+gzip"))
        self.history.append({"created_by": what})

    def write(self, path, config, created, annotations, tag):
        """Writes the archive. `config` is what a container of the image runs, and `tag` the image's name in the index."""
        configuration = self.json_blob(
            {
                "architecture": self.architecture, "os": "linux", "created": created, "config": config,
                "rootfs": {"type": "layers", "diff_ids": self.diffs},
                "history": [{**line, "created": created} for line in self.history],
            },
            "application/vnd.oci.image.config.v1+json")
        manifest = self.json_blob(
            {
                "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": configuration,
                "layers": self.layers, "annotations": annotations,
            },
            "application/vnd.oci.image.manifest.v1+json")
        manifest["annotations"] = {"org.opencontainers.image.ref.name": tag}
        manifest["platform"] = {"architecture": self.architecture, "os": "linux"}
        self.archive.add("index.json", json.dumps(
            {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest]},
            sort_keys=True).encode())
        # By this `docker load` finds the parts: it looks for an index only where it has containerd's store.
        self.archive.add("manifest.json", json.dumps([{
            "Config": self.place(configuration["digest"]), "RepoTags": [tag],
            "Layers": [self.place(layer["digest"]) for layer in self.layers]}]).encode())
        draft = path + ".part"
        with open(draft, "wb") as file:
            file.write(self.archive.bytes())
        os.replace(draft, path)
