internal import DBus
internal import Glibc

/// The part of systemd-logind that says when to lock the vault (org.freedesktop.login1(5)). One connection to the
/// system bus; used by one thread.
struct LoginManager {
  private static let name = "org.freedesktop.login1"
  private static let path = "/org/freedesktop/login1"
  private static let manager = "org.freedesktop.login1.Manager"
  private static let session = "org.freedesktop.login1.Session"
  private static let properties = "org.freedesktop.DBus.Properties"

  enum News: Equatable {
    case sleeps, wakes
    /// A program asked logind to lock this session.
    case locks(session: String)
    /// The screen of this session was locked or unlocked.
    case screen(session: String, isLocked: Bool)
    /// logind started or restarted: its earlier inhibitors are gone.
    case began
  }

  private let bus: BusConnection

  init(_ address: BusAddress?) throws(BusFailure) {
    bus = try BusConnection(to: address, takingDescriptors: true)
    let sender = "type='signal',sender='\(Self.name)'"
    try bus.watch("\(sender),path='\(Self.path)',interface='\(Self.manager)',member='PrepareForSleep'")
    try bus.watch("\(sender),interface='\(Self.session)',member='Lock'")
    try bus.watch("\(sender),interface='\(Self.properties)',member='PropertiesChanged',arg0='\(Self.session)'")
    try bus.watch("type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.name)'")
  }

  var descriptor: Int32 { bus.descriptor }

  /// The next event; nil if none has arrived. Signals that match no case are skipped.
  func next() throws(BusFailure) -> News? {
    while let signal = try bus.nextSignal() {
      switch (signal.interface, signal.member) {
      case (Self.manager, "PrepareForSleep"): return try signal.bool() ? .sleeps : .wakes
      case (Self.session, "Lock"): if let path = signal.path { return .locks(session: path) }
      case (Self.properties, "PropertiesChanged"):
        guard let path = signal.path, let isLocked = try Self.lockedHint(in: signal) else { break }
        return .screen(session: path, isLocked: isLocked)
      case (_, "NameOwnerChanged"):
        _ = (try signal.text(), try signal.text())
        if try !signal.text().isEmpty { return .began }
      default: break
      }
    }
    return nil
  }

  /// Nil if the signal is about another property of the session.
  private static func lockedHint(in signal: BusMessage) throws(BusFailure) -> Bool? {
    try signal.skip("s")
    return try signal.elements(.dictionaryEntry, of: "sv") { () throws(BusFailure) -> Bool? in
      guard try signal.text() == "LockedHint" else {
        try signal.skip("v")
        return nil
      }
      return try signal.inside(.variant, of: "b") { () throws(BusFailure) in try signal.bool() }
    }.compactMap { $0 }.first
  }

  /// A descriptor that delays the machine's sleep until it is closed, or for some seconds at most.
  func delaySleep() throws(BusFailure) -> Int32 {
    try bus.call(Self.name, Self.path, Self.manager, "Inhibit") { (call) throws(BusFailure) in
      for text in ["sleep", "Lanyard", "The vault is locked before the machine sleeps.", "delay"] {
        try call.append(text)
      }
    }.descriptor()
  }

  /// The sessions of this user.
  func sessions() throws(BusFailure) -> [String] {
    let reply = try bus.call(Self.name, Self.path, Self.manager, "ListSessions")
    let all = try reply.elements(of: "susso") { () throws(BusFailure) -> (user: UInt32, path: String) in
      try reply.skip("s")
      let user = try reply.uint32()
      try reply.skip("ss")
      return (user, try reply.text(.path))
    }
    return all.filter { $0.user == geteuid() }.map(\.path)
  }

  /// False for a session that has ended.
  func isOurs(_ session: String) -> Bool { ((try? sessions()) ?? []).contains(session) }

  func isLocked(_ session: String) -> Bool {
    let reply = try? bus.call(Self.name, session, Self.properties, "Get") { (call) throws(BusFailure) in
      try call.append(Self.session)
      try call.append("LockedHint")
    }
    return (try? reply?.inside(.variant, of: "b") { () throws(BusFailure) in try reply?.bool() ?? false }) ?? false
  }
}
