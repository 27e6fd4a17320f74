"""Runs inside a sandbox: tries each way out, and prints as JSON what came of it.

An attempt that fails has the name of its error, `nothing` if it found nothing to take, and `ESCAPED` if it got out. The arguments
are a file with JSON: what lies outside.
"""

import ctypes
import errno
import fcntl
import json
import os
import platform
import signal
import socket
import struct
import sys

# The listing is a descriptor itself, and closed now.
INHERITED = [name for name in os.listdir("/proc/self/fd") if int(name) > 2 and os.path.exists(f"/proc/self/fd/{name}")]
libc = ctypes.CDLL(None, use_errno=True)
ESCAPED = "ESCAPED"
NOTHING = "nothing"
with open(sys.argv[1], encoding="utf-8") as file:
    outside = json.load(file)

# x86_64 and arm64; from 424 on all architectures share the numbers.
NUMBERS = {
    "add_key": (248, 217), "bpf": (321, 280), "clone": (56, 220), "clone3": (435, 435), "fsopen": (430, 430),
    "init_module": (175, 105), "io_uring_setup": (425, 425), "kexec_load": (246, 104), "keyctl": (250, 219),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "open_tree": (428, 428),
    "perf_event_open": (298, 241), "pidfd_getfd": (438, 438), "pidfd_open": (434, 434), "pivot_root": (155, 41),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "ptrace": (101, 117), "setns": (308, 268),
    "userfaultfd": (323, 282), "x32": (0x40000000, 0x40000000),
}
COLUMN = 0 if platform.machine() == "x86_64" else 1


def call(name, *words):
    """A system call; raises as the functions of `os` do."""
    result = libc.syscall(NUMBERS[name][COLUMN], *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as connection:
        connection.settimeout(2)
        connection.connect(address)
    return ESCAPED


def read(path):
    with open(path, "rb") as file:
        file.read(64)
    return ESCAPED


def write(path):
    """Opens only: what is open could be written, and nothing is damaged."""
    os.close(os.open(path, os.O_WRONLY))
    return ESCAPED


def make(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    os.remove(path)
    return ESCAPED


# Sockets

def agent_socket():
    return connect(socket.AF_UNIX, outside["agent"])


def abstract_socket():
    return connect(socket.AF_UNIX, "\0" + outside["abstract"])


def port_of_this_machine():
    return connect(socket.AF_INET, ("127.0.0.1", outside["port"]))


def port_by_an_address_of_this_machine():
    return connect(socket.AF_INET, (outside["address"], outside["port"]))


def ipv6_loopback():
    return connect(socket.AF_INET6, ("::1", outside["port6"]))


def ipv6_address():
    return connect(socket.AF_INET6, ("2001:db8::1", 443))


def public_address():
    return connect(socket.AF_INET, ("192.0.2.1", 443))


def dns_by_udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as query:
        query.sendto(b"\x12\x34\x01\x00\x00\x01" + bytes(6) + b"\x07example\x03com\x00\x00\x01\x00\x01", ("192.0.2.53", 53))
    return ESCAPED


def resolver():
    try:
        socket.getaddrinfo("example.com", 443)
    except socket.gaierror:
        return NOTHING
    return ESCAPED


def raw_socket():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    return ESCAPED


def packet_socket():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    return ESCAPED


def vsock():
    socket.socket(40, socket.SOCK_STREAM)
    return ESCAPED


def bluetooth_socket():
    socket.socket(31, socket.SOCK_RAW, 1)
    return ESCAPED


def kernel_crypto_socket():
    socket.socket(38, socket.SOCK_SEQPACKET)
    return ESCAPED


def interfaces():
    return NOTHING if [name for _, name in socket.if_nameindex()] == ["lo"] else ESCAPED


def route_by_netlink():
    """RTM_NEWADDR: an address for the loopback device."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as route:
        body = struct.pack("BBBBi", socket.AF_INET, 24, 0, 0, 1) + struct.pack("HH4s", 8, 2, bytes([10, 9, 8, 7]))
        route.send(struct.pack("IHHII", 16 + len(body), 20, 0x605, 1, 0) + body)
        answer = route.recv(4096)
    number = -struct.unpack("i", answer[16:20])[0]
    if number:
        raise OSError(number, "")
    return ESCAPED


# Processes

def processes_outside():
    for name in os.listdir("/proc"):
        if name.isdigit():
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read()
            if outside["mark"].encode() in words and int(name) != os.getpid():
                return ESCAPED
            if b"lanyard-proxy" in words.split(b"\0")[0] or b"lanyard-agent" in words.split(b"\0")[0]:
                return ESCAPED
    return NOTHING


def environment_of_pid_1():
    with open("/proc/1/environ", "rb") as file:
        return ESCAPED if outside["secret"].encode() in file.read() else NOTHING


def files_by_pid_1():
    """Its root is the sandbox's."""
    return read("/proc/1/root" + outside["home_file"])


def descriptors_of_pid_1():
    for name in os.listdir("/proc/1/fd"):
        if "socket:" in os.readlink(f"/proc/1/fd/{name}") or outside["home"] in os.readlink(f"/proc/1/fd/{name}"):
            return ESCAPED
    return NOTHING


def kill_outside():
    """The numbers of the processes outside mean others in here, or none."""
    os.kill(outside["pid"], 0)
    return ESCAPED


def kill_all():
    """Reaches what is inside, and only that: the test looks whether its own processes live."""
    child = os.fork()
    if child == 0:
        signal.pause()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return NOTHING


def with_child(body):
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        body(child)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return ESCAPED


def ptrace_of_a_child():
    return with_child(lambda child: call("ptrace", 16, child, 0, 0))


def ptrace_of_pid_1():
    call("ptrace", 16, 1, 0, 0)
    return ESCAPED


def memory_of_a_child():
    buffer = ctypes.create_string_buffer(8)
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
    return with_child(lambda child: call("process_vm_readv", child, vector, 1, vector, 1, 0))


def writing_to_a_childs_memory():
    buffer = ctypes.create_string_buffer(8)
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
    return with_child(lambda child: call("process_vm_writev", child, vector, 1, vector, 1, 0))


def descriptor_of_pid_1():
    process = call("pidfd_open", 1, 0)
    call("pidfd_getfd", process, 0, 0)
    return ESCAPED


def pid_1_without_filter():
    """A process in here without the filter could be written to, and would do what this one may not."""
    with open("/proc/1/status", encoding="utf-8") as file:
        status = dict(line.split(":", 1) for line in file.read().splitlines())
    return NOTHING if status["Seccomp"].strip() == "2" and status["NoNewPrivs"].strip() == "1" else ESCAPED


# Rights

def setuid_program():
    with open("/proc/self/status", encoding="utf-8") as file:
        status = dict(line.split(":", 1) for line in file.read().splitlines())
    return NOTHING if status["NoNewPrivs"].strip() == "1" else ESCAPED


def capabilities():
    with open("/proc/self/status", encoding="utf-8") as file:
        status = dict(line.split(":", 1) for line in file.read().splitlines())
    sets = [int(status[name], 16) for name in ("CapPrm", "CapEff", "CapInh", "CapBnd", "CapAmb")]
    return NOTHING if sets == [0] * 5 else ESCAPED


def mount():
    checked(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
    return ESCAPED


def remount():
    checked(libc.mount(b"none", b"/usr", None, 0x20 | 0x1000, None))
    return ESCAPED


def unmount():
    checked(libc.umount2(outside["home"].encode(), 2))
    return ESCAPED


def pivot_root():
    call("pivot_root", b"/tmp", b"/tmp")
    return ESCAPED


def chroot():
    os.chroot("/tmp")
    return ESCAPED


def unshare_user():
    checked(libc.unshare(0x10000000))
    return ESCAPED


def unshare_mounts():
    checked(libc.unshare(0x00020000))
    return ESCAPED


def namespaces_of_pid_1():
    with open("/proc/1/ns/net", "rb") as file:
        call("setns", file.fileno(), 0)
    return ESCAPED


def clone_with_a_namespace():
    if call("clone", 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        os._exit(0)
    return ESCAPED


def clone3_with_a_namespace():
    words = (ctypes.c_uint64 * 8)(0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    if call("clone3", words, ctypes.sizeof(words)) == 0:
        os._exit(0)
    return ESCAPED


def new_mount_calls():
    call("fsopen", b"tmpfs", 0)
    return ESCAPED


def open_tree():
    call("open_tree", -100, b"/", 1)
    return ESCAPED


def file_by_handle():
    call("open_by_handle_at", -100, ctypes.create_string_buffer(128), 0)
    return ESCAPED


def handle_of_a_file():
    call("name_to_handle_at", -100, b"/", ctypes.create_string_buffer(128), (ctypes.c_int * 1)(), 0)
    return ESCAPED


def keyring():
    call("keyctl", 0, -3, 0)
    return ESCAPED


def key():
    call("add_key", b"user", b"lanyard", b"x", 1, -3)
    return ESCAPED


def bpf():
    call("bpf", 0, ctypes.create_string_buffer(128), 128)
    return ESCAPED


def perf():
    call("perf_event_open", ctypes.create_string_buffer(128), 0, -1, -1, 0)
    return ESCAPED


def userfaultfd():
    call("userfaultfd", 1)
    return ESCAPED


def io_uring():
    call("io_uring_setup", 8, ctypes.create_string_buffer(128))
    return ESCAPED


def kernel_module():
    call("init_module", b"", 0, b"")
    return ESCAPED


def other_kernel():
    call("kexec_load", 0, 0, 0, 0)
    return ESCAPED


def calls_of_x32():
    call("x32", 0, 0, 0)
    return ESCAPED


def host_name():
    name = socket.gethostname()
    if name == outside["host"]:
        return ESCAPED
    socket.sethostname("other")
    return ESCAPED


def with_terminal(request, word):
    ends = os.openpty()
    try:
        fcntl.ioctl(ends[1], request, word)
    finally:
        for end in ends:
            os.close(end)
    return ESCAPED


def typing_into_the_terminal():
    """TIOCSTI"""
    return with_terminal(0x5412, b"x")


def selecting_in_the_terminal():
    """TIOCLINUX"""
    return with_terminal(0x541C, b"\x02")


# Files

def inherited_descriptors():
    return NOTHING if INHERITED == [] else ESCAPED


def environment():
    return ESCAPED if any(outside["secret"] in value for value in os.environ.values()) else NOTHING


def names_in_the_environment():
    bad = ("LANYARD_SOCKET", "LANYARD_STATE_DIR", "LANYARD_GRANT", "LANYARD_TOKEN", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS",
           "XDG_RUNTIME_DIR")
    return ESCAPED if any(name.startswith(bad) for name in os.environ) else NOTHING


def file_of_the_home():
    return read(outside["home_file"])


def ssh_keys():
    return read(os.path.join(outside["home"], ".ssh", "id_ed25519"))


def content_of_the_home():
    return NOTHING if os.listdir(os.environ["HOME"]) == [] else ESCAPED


def state_directory():
    os.listdir(outside["state"])
    return ESCAPED


def directory_of_the_socket():
    os.listdir(os.path.dirname(outside["agent"]))
    return ESCAPED


def link_out_of_the_directory():
    return read("link-to-home")


def dots_out_of_the_directory():
    return read(os.path.join("..", os.path.relpath(outside["home_file"], os.path.dirname(os.getcwd()))))


def other_temporary_files():
    return read(outside["temporary"])


def writing_to_usr():
    return make("/usr/lanyard-was-here")


def writing_to_etc():
    return make("/etc/lanyard-was-here")


def device_of_memory():
    return read("/dev/mem")


def kernel_log():
    return read("/dev/kmsg")


def disks():
    return ESCAPED if any(name.startswith(("sd", "vd", "nvme", "loop", "dm-")) for name in os.listdir("/dev")) else NOTHING


def making_a_device():
    os.mknod("/tmp/memory", 0o600 | 0o020000, os.makedev(1, 1))
    return ESCAPED


def sys_tree():
    os.listdir("/sys")
    return ESCAPED


def kernel_settings():
    return write("/proc/sys/kernel/core_pattern")


def sysrq():
    return write("/proc/sysrq-trigger")


def entry_is_read_only():
    """Its mode is set to what it is: opening a program that runs is refused whatever may be written."""
    os.chmod("/run/lanyard/enter", os.stat("/run/lanyard/enter").st_mode & 0o7777)
    return ESCAPED


def main():
    told = {}
    for name, attempt in list(ATTEMPTS.items()):
        try:
            told[name] = attempt()
        except OSError as error:
            told[name] = errno.errorcode.get(error.errno, str(error))
    print(json.dumps(told))


HELPERS = {"call", "checked", "connect", "read", "write", "make", "with_terminal", "with_child", "main"}
ATTEMPTS = {name: value for name, value in globals().items()
            if callable(value) and getattr(value, "__module__", "") == "__main__" and name not in HELPERS}

if __name__ == "__main__":
    main()
