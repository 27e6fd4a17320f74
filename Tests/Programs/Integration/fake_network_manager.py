"""NetworkManager for a test's system bus, as far as the agent uses it. Run by the system's Python, which has D-Bus.

Its argument is the first connectivity (1 none, 2 portal, 3 limited, 4 full). Each line on standard input is the next one;
it prints how often it was asked.
"""

import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NAME = "org.freedesktop.NetworkManager"


class Manager(dbus.service.Object):
    def __init__(self, bus, connectivity):
        super().__init__(bus, "/org/freedesktop/NetworkManager")
        self.connectivity = connectivity
        self.asked = 0

    @dbus.service.method(dbus.PROPERTIES_IFACE, in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        assert (interface, name) == (NAME, "Connectivity")
        self.asked += 1
        return dbus.UInt32(self.connectivity, variant_level=1)

    @dbus.service.signal(dbus.PROPERTIES_IFACE, signature="sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):
        pass

    def tell(self, connectivity):
        self.connectivity = connectivity
        # Other properties change beside it.
        self.PropertiesChanged(NAME, {"Metered": dbus.UInt32(0), "Connectivity": dbus.UInt32(connectivity)}, [])


def main():
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.SystemBus()
    name = dbus.service.BusName(NAME, bus, do_not_queue=True)
    manager = Manager(bus, int(sys.argv[1]))
    loop = GLib.MainLoop()

    def commanded(source, condition):
        line = sys.stdin.readline()
        if not line:
            loop.quit()
            return False
        if line.strip():
            manager.tell(int(line))
        print(manager.asked, flush=True)
        return True

    GLib.io_add_watch(0, GLib.IO_IN | GLib.IO_HUP, commanded)
    print("ready", flush=True)
    loop.run()
    del name


main()
