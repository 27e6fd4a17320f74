import AgentModel
import CommandSupport
import DBus

/// The desktop's notifications (Desktop Notifications Specification 1.2), over the session bus.
struct DesktopNotifications {
  private static let service = "org.freedesktop.Notifications"
  private static let path = "/org/freedesktop/Notifications"

  private let bus: BusConnection

  /// What a person can choose at a notification: `default` is a click on the notification itself.
  struct Action {
    let key: String
    let label: String
  }

  /// For poll(2).
  var descriptor: Int32 { bus.descriptor }

  init() throws(CommandFailure) {
    do throws(BusFailure) {
      bus = try BusConnection(to: .session)
      try bus.watch("type='signal',sender='\(Self.service)',interface='\(Self.service)',path='\(Self.path)'")
    } catch .noLibrary {
      throw CommandFailure(.other, name: "noLibrary", SystemLibrary.systemd.missing)
    } catch {
      throw CommandFailure(
        .other, name: "noDesktop", "There is no desktop session that could show notifications.",
        hints: ["Run this in a desktop session. Elsewhere: `lanyard events --exec COMMAND`."])
    }
  }

  /// The service shows buttons. False also where that can't be asked.
  var hasActions: Bool {
    let names = try? bus.call(Self.service, Self.path, Self.service, "GetCapabilities") { _ in }.texts()
    return names?.contains("actions") ?? false
  }

  /// Shows a notification with these actions and returns its number.
  func show(title: String, text: String, actions: [Action] = []) throws(CommandFailure) -> UInt32 {
    do throws(BusFailure) {
      let reply = try bus.call(Self.service, Self.path, Self.service, "Notify") { (call) throws(BusFailure) in
        try call.append("Lanyard")
        try call.append(UInt32(0))
        try call.append("dialog-password")
        try call.append(title)
        try call.append(Self.escaped(text))
        try call.append(.array, of: "s") { () throws(BusFailure) in
          for word in actions.flatMap({ [$0.key, $0.label] }) { try call.append(word) }
        }
        try call.append(.array, of: "{sv}") { () throws(BusFailure) in }
        try call.append(Int32(-1))
      }
      return try reply.uint32()
    } catch {
      throw CommandFailure(.other, name: "noDesktop", "The desktop shows no notifications: \(error).")
    }
  }

  /// The text is markup, and names in it come from a provider.
  private static func escaped(_ text: String) -> String {
    text.reduce(into: "") { escaped, character in
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      default: escaped.append(character)
      }
    }
  }

  /// The connection that serves notifications now.
  private func owner() throws(BusFailure) -> String {
    let bus = "org.freedesktop.DBus"
    return try self.bus.call(bus, "/org/freedesktop/DBus", bus, "GetNameOwner") { (call) throws(BusFailure) in
      try call.append(Self.service)
    }.text()
  }

  func close(_ number: UInt32) {
    _ = try? bus.call(Self.service, Self.path, Self.service, "CloseNotification") { (call) throws(BusFailure) in
      try call.append(number)
    }
  }

  /// The actions that were chosen since, each with the number of its notification.
  func chosen() throws(CommandFailure) -> [(number: UInt32, action: String)] {
    var chosen: [(number: UInt32, action: String)] = []
    do throws(BusFailure) {
      while let signal = try bus.nextSignal() {
        // A signal that a program sends to this connection alone passes the match rule.
        guard signal.interface == Self.service, signal.member == "ActionInvoked", try signal.sender == owner(),
          let number = try? signal.uint32(), let action = try? signal.text()
        else { continue }
        chosen.append((number, action))
      }
    } catch {
      throw CommandFailure(.other, name: "noDesktop", "The desktop session has ended.")
    }
    return chosen
  }
}
