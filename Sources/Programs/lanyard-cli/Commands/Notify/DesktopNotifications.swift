import CommandSupport
import DBus

/// The desktop's notifications (Desktop Notifications Specification 1.2), over the session bus.
struct DesktopNotifications {
  private static let service = "org.freedesktop.Notifications"
  private static let path = "/org/freedesktop/Notifications"

  private let bus: BusConnection

  /// For poll(2).
  var descriptor: Int32 { bus.descriptor }

  init() throws(CommandFailure) {
    do throws(BusFailure) {
      bus = try BusConnection(to: .session)
      try bus.watch("type='signal',sender='\(Self.service)',interface='\(Self.service)',path='\(Self.path)'")
    } catch {
      throw CommandFailure(
        .other, name: "noDesktop", "No desktop session is there that could show notifications.",
        hints: ["Run it within one. Elsewhere: `lanyard events --exec COMMAND`."])
    }
  }

  /// Shows a notification with one action, and returns its number. `replacing`: the one whose place it takes; 0 for none.
  func show(title: String, text: String, action: (name: String, label: String)) throws(CommandFailure) -> UInt32 {
    do throws(BusFailure) {
      let reply = try bus.call(Self.service, Self.path, Self.service, "Notify") { (call) throws(BusFailure) in
        try call.append("Lanyard")
        try call.append(UInt32(0))
        try call.append("dialog-password")
        try call.append(title)
        try call.append(Self.escaped(text))
        try call.append(.array, of: "s") { () throws(BusFailure) in
          for word in ["default", action.label, action.name, action.label] { try call.append(word) }
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
        guard signal.interface == Self.service, signal.member == "ActionInvoked", let number = try? signal.uint32()
        else { continue }
        numbers.append(number)
      }
    } catch {
      throw CommandFailure(.other, name: "noDesktop", "The desktop session has ended.")
    }
    return numbers
  }
}
