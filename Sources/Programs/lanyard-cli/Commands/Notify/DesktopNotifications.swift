import CommandSupport
import DBus

/// The desktop's notifications (Desktop Notifications Specification 1.2), over the session bus.
struct DesktopNotifications {
  private static let service = "org.freedesktop.Notifications"
  private static let path = "/org/freedesktop/Notifications"

  private let bus: BusConnection
  /// The action of a click on the notification, and that of its button.
  private let actions = ["default", "sign-in"]

  /// For poll(2).
  var descriptor: Int32 { bus.descriptor }

  init() throws(CommandFailure) {
    do throws(BusFailure) {
      bus = try BusConnection(to: .session)
      try bus.watch("type='signal',sender='\(Self.service)',interface='\(Self.service)',path='\(Self.path)'")
    } catch {
      throw CommandFailure(
        .other, name: "noDesktop", "There is no desktop session that could show notifications.",
        hints: ["Run this in a desktop session. Elsewhere: `lanyard events --exec COMMAND`."])
    }
  }

  /// Shows a notification with one action, or none, and returns its number.
  func show(title: String, text: String, actionLabel label: String? = nil) throws(CommandFailure) -> UInt32 {
    do throws(BusFailure) {
      let reply = try bus.call(Self.service, Self.path, Self.service, "Notify") { (call) throws(BusFailure) in
        try call.append("Lanyard")
        try call.append(UInt32(0))
        try call.append("dialog-password")
        try call.append(title)
        try call.append(Self.escaped(text))
        try call.append(.array, of: "s") { () throws(BusFailure) in
          for word in label.map({ label in actions.flatMap { [$0, label] } }) ?? [] { try call.append(word) }
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

  /// The numbers of the notifications whose action was chosen since.
  func chosen() throws(CommandFailure) -> [UInt32] {
    var numbers: [UInt32] = []
    do throws(BusFailure) {
      while let signal = try bus.nextSignal() {
        // A signal that a program sends to this connection alone passes the match rule.
        guard signal.interface == Self.service, signal.member == "ActionInvoked", try signal.sender == owner(),
          let number = try? signal.uint32(), let action = try? signal.text(), actions.contains(action)
        else { continue }
        numbers.append(number)
      }
    } catch {
      throw CommandFailure(.other, name: "noDesktop", "The desktop session has ended.")
    }
    return numbers
  }
}
