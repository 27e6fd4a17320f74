import CommandSupport
import ProxyCore
import Synchronization

/// Tells the person of refusals, since tools show no more of a refused tunnel than its status, and of fields that stay
/// behind.
final class RefusalNotes: Sendable {
  private struct Told {
    var refusals: Set<String> = []
    var fields: Set<String> = []
    /// By provider: the names of fields that a command allows, in the order in which they were told.
    var allowable: [String: [String]] = [:]
  }
  private let told = Mutex(Told())
  /// A program that tries every origin, or every name, does not fill the terminal.
  private static let most = 20

  /// Tells each kind of refusal of an origin once.
  func refused(_ origin: String, _ refusal: Refusal) {
    let isNew = told.withLock { told in
      told.refusals.count < Self.most && told.refusals.insert("\(origin) \(refusal.name)").inserted
    }
    let subject = refusal.sentence.contains(origin) ? "" : "\(origin): "
    if isNew { Output.note(Text.shown("lanyard proxy: \(subject)\(refusal.sentence)")) }
  }

  /// Tells once that what passed to an origin could not be written down.
  func unrecorded(_ origin: String) {
    let isNew = told.withLock { $0.refusals.insert("\(origin) unrecorded").inserted }
    guard isNew else { return }
    Output.note(
      Text.shown("lanyard proxy: what passed to \(origin) is not in the audit log: the agent could not be reached."))
  }

  /// Tells each field that is left out of requests to an origin once. The command allows the fields that were told before,
  /// too: it sets the whole list.
  func leftOut(_ field: ForwardedFields.LeftOut, of origin: String, _ allowance: ProviderAllowance) {
    let isWhole = field.name.count <= Self.mostNameLength
    let name = isWhole ? field.name : field.name.prefix(Self.mostNameLength) + "…"
    let names: [String]? = told.withLock { told in
      guard told.fields.count < Self.most, told.fields.insert("\(origin) \(field.name)").inserted else { return nil }
      guard isWhole else { return [] }
      var names = told.allowable[allowance.provider] ?? []
      if !names.contains(field.name) { names.append(field.name) }
      told.allowable[allowance.provider] = names
      return names
    }
    guard let names else { return }
    let help =
      isWhole ? " `\(allowance.command(addingFields: names))` allows it; then start the proxy again." : ""
    Output.note(Text.shown("lanyard proxy: \(origin): \(name) was left out: \(field.reason).\(help)"))
  }

  /// A longer name is cut, and no command allows it.
  private static let mostNameLength = 64
}
