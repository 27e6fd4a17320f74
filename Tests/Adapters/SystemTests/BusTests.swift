import AgentModel
import DBus
import Foundation
import Testing

@Suite struct BusTests {
  let bus: PrivateBus

  init() throws { bus = try PrivateBus() }

  private let names = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")

  @Test func call_isAnswered() throws {
    let connection = try BusConnection(to: bus.address)
    let reply = try connection.call(names.0, names.1, names.2, "NameHasOwner") { (call) throws(BusFailure) in
      try call.append("org.freedesktop.DBus")
    }
    #expect(try reply.bool())
    let listed = try connection.call(names.0, names.1, names.2, "ListNames").texts()
    #expect(listed.contains("org.freedesktop.DBus"))
  }

  @Test func replyOfAnotherType_isMalformed() throws {
    let connection = try BusConnection(to: bus.address)
    let reply = try connection.call(names.0, names.1, names.2, "ListNames")
    #expect(throws: BusFailure.malformed) { try reply.bool() }
    #expect(throws: BusFailure.malformed) { try reply.texts(.path) }
    let call = { (call: BusMessage) throws(BusFailure) in try call.append("a\0b") }
    #expect(throws: BusFailure.malformed) { try connection.call(names.0, names.1, names.2, "NameHasOwner", call) }
  }

  @Test func missingService_isDistinctFromARefusal() throws {
    let connection = try BusConnection(to: bus.address)
    let nobody = #expect(throws: BusFailure.self) { try connection.call("org.example.Nobody", "/", "a.b", "C") }
    #expect(nobody?.hasNoOwner == true)
    let refused = #expect(throws: BusFailure.self) { try connection.call(names.0, names.1, names.2, "NoSuch") }
    #expect(refused == .refused(name: "org.freedesktop.DBus.Error.UnknownMethod"))
    #expect(refused?.hasNoOwner == false)
  }

  @Test func signals_arriveByTheirMatchRule() throws {
    let watcher = try BusConnection(to: bus.address)
    try watcher.watch("type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged'")
    while try watcher.nextSignal() != nil {}  // the watcher's own name
    let other = try BusConnection(to: bus.address)
    var watched = pollfd(fd: watcher.descriptor, events: Int16(POLLIN), revents: 0)
    #expect(poll(&watched, 1, 5000) == 1)
    let signal = try #require(try watcher.nextSignal())
    #expect(signal.member == "NameOwnerChanged")
    #expect(signal.sender == "org.freedesktop.DBus")
    let (name, before, now) = (try signal.text(), try signal.text(), try signal.text())
    #expect(before.isEmpty && name == now)
    withExtendedLifetime(other) {}
  }

  @Test func malformedMatchRule_isRefused() throws {
    let connection = try BusConnection(to: bus.address)
    #expect(throws: BusFailure.refused(name: "org.freedesktop.DBus.Error.MatchRuleInvalid")) {
      try connection.watch("sender='")
    }
  }

  @Test func busThatEnds_failsEveryCall() throws {
    let connection = try BusConnection(to: bus.address)
    bus.stop()
    #expect(throws: BusFailure.self) { try connection.call(names.0, names.1, names.2, "GetId") }
    #expect(throws: BusFailure.self) { while try connection.nextSignal() != nil {} }
    #expect(throws: BusFailure.self) { try BusConnection(to: bus.address) }
    #expect(throws: BusFailure.unreachable(EDESTADDRREQ)) { try BusConnection(to: nil) }
  }

  @Test func silentBus_timesOut() throws {
    let directory = TemporaryDirectory()
    let silent = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(silent) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let path = directory.path("bus")
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(silent, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0 && listen(silent, 4) == 0)
    #expect(throws: BusFailure.timedOut) {
      try BusConnection(to: BusAddress("unix:path=" + path), timeout: Milliseconds(50))
    }
  }

  @Test(arguments: [
    "tcp:host=127.0.0.1,port=9", "unixexec:path=/bin/true", "unix:path=/a;tcp:host=b", "", "autolaunch:",
  ])
  func busAddressThatIsNoUnixSocket_isRefused(address: String) { #expect(BusAddress(address) == nil) }
}
