import AgentModel
import DBus
import Foundation
import Testing

/// A program that the test starts and ends.
final class OwnProgram {
  private var process: pid_t = 0

  /// `environment` is the program's whole environment; nil inherits the test's. `input` is a file.
  init(
    _ words: [String], environment: [String: String]? = nil, input: String = "/dev/null"
  ) throws {
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] =
      (environment ?? ProcessInfo.processInfo.environment).map { strdup($0 + "=" + $1) } + [nil]
    defer { (arguments + variables).forEach { free($0) } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    try #require(posix_spawnp(&process, words[0], &actions, nil, &arguments, &variables) == 0)
  }

  func end() {
    guard process > 0 else { return }
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
    process = 0
  }

  deinit { end() }
}

/// A message bus for one test, which starts no services.
final class PrivateBus {
  private let daemon: OwnProgram
  private let directory = TemporaryDirectory()
  let address: BusAddress

  init() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { close(ends[0]) }
    defer { if ends[1] >= 0 { close(ends[1]) } }
    let configuration = """
      <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
       "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig>
        <type>session</type>
        <listen>unix:path=\(directory.path("bus"))</listen>
        <auth>EXTERNAL</auth>
        <policy context="default">
          <allow send_destination="*"/>
          <allow receive_sender="*"/>
          <allow own="*"/>
        </policy>
      </busconfig>
      """
    directory.write(Array(configuration.utf8), to: "bus.conf")
    daemon = try OwnProgram([
      "dbus-daemon", "--config-file=" + directory.path("bus.conf"), "--nofork", "--nopidfile",
      "--print-address=\(ends[1])",
    ])
    close(ends[1])
    ends[1] = -1
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while read(ends[0], &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
    address = try #require(BusAddress(String(decoding: line, as: UTF8.self)))
  }

  func stop() { daemon.end() }
}

/// A real gnome-keyring on a private bus, with an unlocked keyring.
final class PrivateKeyring {
  static let isInstalled = ["dbus-daemon", "gnome-keyring-daemon"].allSatisfy { (name: String) in
    access("/usr/bin/" + name, X_OK) == 0
  }

  let bus: PrivateBus
  let directory = TemporaryDirectory()
  private let daemon: OwnProgram
  private let connection: BusConnection

  private static let service = "org.freedesktop.secrets"
  private static let root = "/org/freedesktop/secrets"

  init() throws {
    bus = try PrivateBus()
    directory.write(Array("the keyring's own words".utf8), to: "words")
    let path = directory.path
    let home = ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"]
    let own = ["PATH": "/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS": bus.address.text]
    daemon = try OwnProgram(
      ["gnome-keyring-daemon", "--foreground", "--components=secrets", "--unlock"],
      environment: own.merging(home.map { ($0, path) }) { $1 }, input: directory.path("words"))
    let connection = try BusConnection(to: bus.address)
    self.connection = connection
    try connection.watch("type='signal',member='NameOwnerChanged',arg0='\(Self.service)'")
    func isThere() throws -> Bool {
      let name = "org.freedesktop.DBus"
      let reply = try connection.call(name, "/org/freedesktop/DBus", name, "NameHasOwner") {
        (call) throws(BusFailure) in try call.append(Self.service)
      }
      return try reply.bool()
    }
    while try !isThere() {
      while try connection.nextSignal() != nil {}
      guard try !isThere() else { break }
      _ = try connection.wait(.seconds(20))
    }
  }

  func lock() throws {
    _ = try connection.call(Self.service, Self.root, "org.freedesktop.Secret.Service", "Lock") {
      (call) throws(BusFailure) in
      try call.append(.array, of: "o") { () throws(BusFailure) in
        try call.append(Self.root + "/aliases/default", as: .path)
      }
    }
  }

  func end() { daemon.end() }
}
