import CommandSupport
import ProxyCore
import Synchronization

/// Tells the person of refusals, since tools show no more of a refused tunnel than its status, and of fields that stay
/// behind.
final class RefusalNotes: Sendable {
  private let told = Mutex<Set<String>>([])
  /// A program that tries every origin does not fill the terminal.
  private static let most = 20

  /// Tells each kind of refusal of an origin once.
  func refused(_ origin: String, _ refusal: Refusal) {
    let isNew = told.withLock { told in
      told.count < Self.most && told.insert("\(origin) \(refusal.name)").inserted
    }
    let subject = refusal.sentence.contains(origin) ? "" : "\(origin): "
    if isNew { Output.note(Text.shown("lanyard proxy: \(subject)\(refusal.sentence)")) }
  }

  /// Tells each field that is left out of requests to an origin once.
  func leftOut(_ field: ForwardedFields.LeftOut, of origin: String, _ provider: String) {
    let name = String(field.name.prefix(Self.mostNameLength))
    let isNew = told.withLock { told in told.count < Self.most && told.insert("\(origin) \(name)").inserted }
    guard isNew else { return }
    Output.note(
      Text.shown(
        "lanyard proxy: \(origin): \(name) was left out: \(field.reason). `lanyard provider update \(provider) --allowed-field \(name)` allows it."
      ))
  }

  private static let mostNameLength = 64
}
