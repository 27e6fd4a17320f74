"""systemd-logind for a test's system bus, as far as the agent uses it. Run by the system's Python, which has D-Bus.

Reads one command a line on standard input, and prints a number when it is done. `sleep`, `wake`, `lock SESSION`,
`hint SESSION on|off`; `delays`: the number of held sleep delays; `asked`: the number of ListSessions calls.
"""

import os
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NAME = "org.freedesktop.login1"
SESSION = NAME + ".Session"
OURS, ANOTHERS = "/org/freedesktop/login1/session/_31", "/org/freedesktop/login1/session/_32"


class Session(dbus.service.Object):
    def __init__(self, bus, path):
        super().__init__(bus, path)
        self.locked = False

    @dbus.service.signal(SESSION)
    def Lock(self):
        pass

    @dbus.service.signal(dbus.PROPERTIES_IFACE, signature="sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):
        pass

    @dbus.service.method(dbus.PROPERTIES_IFACE, in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        assert (interface, name) == (SESSION, "LockedHint")
        return dbus.Boolean(self.locked, variant_level=1)

    def hint(self, locked):
        self.locked = locked
        self.PropertiesChanged(SESSION, {"LockedHint": dbus.Boolean(locked)}, [])


class Manager(dbus.service.Object):
    def __init__(self, bus):
        super().__init__(bus, "/org/freedesktop/login1")
        self.held = []
        self.asked = 0
        self.sessions = {path: Session(bus, path) for path in (OURS, ANOTHERS)}

    @dbus.service.method(NAME + ".Manager", in_signature="ssss", out_signature="h")
    def Inhibit(self, what, who, why, mode):
        assert (what, mode) == ("sleep", "delay") and who and why
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        self.held.append(ours)
        given = dbus.types.UnixFd(theirs)
        os.close(theirs)
        return given

    @dbus.service.method(NAME + ".Manager", out_signature="a(susso)")
    def ListSessions(self):
        self.asked += 1
        users = {OURS: os.getuid(), ANOTHERS: os.getuid() + 1}
        return [(path[-1], dbus.UInt32(users[path]), "alice", "seat0", dbus.ObjectPath(path)) for path in users]

    @dbus.service.signal(NAME + ".Manager", signature="b")
    def PrepareForSleep(self, sleeps):
        pass

    def delays(self):
        """A descriptor closed at its other end reads as ended."""
        for descriptor in list(self.held):
            try:
                if not os.read(descriptor, 1):
                    os.close(descriptor)
                    self.held.remove(descriptor)
            except BlockingIOError:
                pass
        return len(self.held)

    def do(self, words):
        if words[0] in ("sleep", "wake"):
            self.PrepareForSleep(words[0] == "sleep")
        elif words[0] == "lock":
            self.sessions[words[1]].Lock()
        elif words[0] == "hint":
            self.sessions[words[1]].hint(words[2] == "on")
        return self.asked if words[0] == "asked" else self.delays()


def main():
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.SystemBus()
    name = dbus.service.BusName(NAME, bus, do_not_queue=True)
    manager = Manager(bus)
    loop = GLib.MainLoop()

    def commanded(source, condition):
        line = sys.stdin.readline()
        if not line:
            loop.quit()
            return False
        print(manager.do(line.split()), flush=True)
        return True

    GLib.io_add_watch(0, GLib.IO_IN | GLib.IO_HUP, commanded)
    print("ready", flush=True)
    loop.run()
    del name


main()
