internal import AgentModel
package import DBus
package import Secrets

/// A session with the Secret Service (freedesktop.org, Secret Service API 0.2). Always encrypted, never the `plain`
/// algorithm: all programs of this user can read the bus.
///
/// Used by one thread at a time. All calls are bounded; those that prompt wait `personsPatience` for the person.
package final class SecretSession: @unchecked Sendable {
  // Not shared: a user takes the session out of where it is kept.

  /// A prompt that stands longer is dismissed: the person has left.
  static let personsPatience = Milliseconds.seconds(120)
  /// All programs can set attributes, and one item has one secret: more than this were not made by the agent.
  private static let mostItems = 8
  private static let mostSecretBytes = 4096

  static let service = "org.freedesktop.secrets"
  private static let root = "/org/freedesktop/secrets"
  private static let nowhere = "/"

  private let bus: BusConnection
  private let path: String
  private let key: SessionKey

  package init(_ address: BusAddress?) throws(BusFailure) {
    bus = try BusConnection(to: address)
    guard let offer = SessionOffer() else { throw .malformed }
    let reply = try bus.call(Self.service, Self.root, "org.freedesktop.Secret.Service", "OpenSession") {
      (call) throws(BusFailure) in
      try call.append(SessionOffer.algorithm)
      try call.append(.variant, of: "ay") { () throws(BusFailure) in try call.append(offer.publicNumber) }
    }
    let theirs = try reply.inside(.variant, of: "ay") { () throws(BusFailure) in try reply.bytes() }
    path = try reply.text(.path)
    guard let key = offer.agree(with: theirs) else { throw .malformed }
    self.key = key
  }

  // MARK: finding

  package struct Found: Sendable {
    package var unlocked: [String]
    var locked: [String]
    var isEmpty: Bool { unlocked.isEmpty && locked.isEmpty }
  }

  /// Items that have all of these attributes, in any collection.
  package func items(_ attributes: [(String, String)]) throws(BusFailure) -> Found {
    let reply = try bus.call(Self.service, Self.root, "org.freedesktop.Secret.Service", "SearchItems") {
      (call) throws(BusFailure) in try Self.append(attributes, to: call)
    }
    let found = Found(unlocked: try reply.texts(.path), locked: try reply.texts(.path))
    guard found.unlocked.count + found.locked.count <= Self.mostItems else { throw .malformed }
    return found
  }

  /// The collection for new items; nil if this user has no default collection.
  func defaultCollection() throws(BusFailure) -> String? {
    let reply = try bus.call(Self.service, Self.root, "org.freedesktop.Secret.Service", "ReadAlias") {
      (call) throws(BusFailure) in try call.append("default")
    }
    let path = try reply.text(.path)
    return path == Self.nowhere ? nil : path
  }

  func isLocked(collection: String) throws(BusFailure) -> Bool {
    let reply = try bus.call(Self.service, collection, "org.freedesktop.DBus.Properties", "Get") {
      (call) throws(BusFailure) in
      try call.append("org.freedesktop.Secret.Collection")
      try call.append("Locked")
    }
    return try reply.inside(.variant, of: "b") { () throws(BusFailure) in try reply.bool() }
  }

  // MARK: the person

  enum Asking: Sendable {
    case forbidden
    /// Until this descriptor becomes readable.
    case allowed(cancel: Int32)
  }

  /// Unlocks collections or items; false if that needs a prompt that is not allowed, or that the person dismissed.
  func unlock(_ objects: [String], _ asking: Asking) throws(BusFailure) -> Bool {
    let reply = try bus.call(Self.service, Self.root, "org.freedesktop.Secret.Service", "Unlock") {
      (call) throws(BusFailure) in
      try call.append(.array, of: "o") { () throws(BusFailure) in
        for object in objects { try call.append(object, as: .path) }
      }
    }
    let unlocked = try reply.texts(.path)
    let prompt = try reply.text(.path)
    guard prompt != Self.nowhere else { return Set(objects).isSubset(of: unlocked) }
    switch asking {
    case .forbidden:
      dismiss(prompt)
      return false
    case .allowed(let cancel): return try show(prompt, until: Self.personsPatience, cancel: cancel)
    }
  }

  /// False if the person dismissed the prompt or did not answer. Throws if the service ends meanwhile.
  private func show(
    _ prompt: String, until patience: Milliseconds, cancel: Int32 = -1
  ) throws(BusFailure) -> Bool {
    let interface = "org.freedesktop.Secret.Prompt"
    try bus.watch("type='signal',sender='\(Self.service)',interface='\(interface)',path='\(prompt)'")
    try bus.watch(
      "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.service)'")
    _ = try bus.call(Self.service, prompt, interface, "Prompt") { (call) throws(BusFailure) in
      // The window identifier is empty: the agent has no window.
      try call.append("")
    }
    let clock = ContinuousClock()
    let end = clock.now + .milliseconds(patience.count)
    while clock.now < end {
      while let signal = try bus.nextSignal() {
        if signal.member == "NameOwnerChanged", try signal.text() == Self.service { throw .unreachable(0) }
        guard signal.member == "Completed", signal.path == prompt else { continue }
        return try !signal.bool()
      }
      let left = clock.now.duration(to: end)
      guard try bus.wait(Milliseconds(max(1, Int64(left / .milliseconds(1)))), cancel: cancel) else { break }
    }
    dismiss(prompt)
    return false
  }

  private func dismiss(_ prompt: String) {
    _ = try? bus.call(Self.service, prompt, "org.freedesktop.Secret.Prompt", "Dismiss")
  }

  // MARK: secrets

  /// Nil if the reply was not encrypted in this session, or is longer than any secret of the agent.
  func secret(of item: String) throws(BusFailure) -> Secret? {
    let reply = try bus.call(Self.service, item, "org.freedesktop.Secret.Item", "GetSecret") {
      (call) throws(BusFailure) in try call.append(path, as: .path)
    }
    return try reply.inside(.structure, of: "oayays") { () throws(BusFailure) in
      try reply.skip("o")
      let vector = try reply.bytes()
      let sealed = try reply.bytes()
      try reply.skip("s")
      guard sealed.count <= Self.mostSecretBytes else { return nil }
      return key.open(sealed, vector: vector)
    }
  }

  /// False if the service prompted and the person dismissed the prompt.
  func create(
    label: String, _ attributes: [(String, String)], _ secret: Secret, in collection: String
  ) throws(BusFailure) -> Bool {
    let reply = try bus.call(Self.service, collection, "org.freedesktop.Secret.Collection", "CreateItem") {
      (call) throws(BusFailure) in
      try call.append(.array, of: "{sv}") { () throws(BusFailure) in
        try call.append(.dictionaryEntry, of: "sv") { () throws(BusFailure) in
          try call.append("org.freedesktop.Secret.Item.Label")
          try call.append(.variant, of: "s") { () throws(BusFailure) in try call.append(label) }
        }
        try call.append(.dictionaryEntry, of: "sv") { () throws(BusFailure) in
          try call.append("org.freedesktop.Secret.Item.Attributes")
          try call.append(.variant, of: "a{ss}") { () throws(BusFailure) in try Self.append(attributes, to: call) }
        }
      }
      try append(secret, to: call)
      // Never replaces another item.
      try call.append(false)
    }
    try reply.skip("o")
    return try agreed(try reply.text(.path))
  }

  package func setSecret(_ secret: Secret, of item: String) throws(BusFailure) {
    _ = try bus.call(Self.service, item, "org.freedesktop.Secret.Item", "SetSecret") { (call) throws(BusFailure) in
      try append(secret, to: call)
    }
  }

  /// False if the service prompted and the person dismissed the prompt.
  func delete(_ item: String) throws(BusFailure) -> Bool {
    try agreed(try bus.call(Self.service, item, "org.freedesktop.Secret.Item", "Delete").text(.path))
  }

  /// Some services return a prompt for every change, even if it asks nothing.
  private func agreed(_ prompt: String) throws(BusFailure) -> Bool {
    if prompt == Self.nowhere { return true }
    return try show(prompt, until: .seconds(60))
  }

  private func append(_ secret: Secret, to call: BusMessage) throws(BusFailure) {
    guard let (vector, sealed) = key.seal(secret) else { throw .malformed }
    try call.append(.structure, of: "oayays") { () throws(BusFailure) in
      try call.append(path, as: .path)
      try call.append(vector)
      try call.append(sealed)
      // As text, since some services store only text unchanged.
      try call.append("text/plain")
    }
  }

  private static func append(_ attributes: [(String, String)], to call: BusMessage) throws(BusFailure) {
    try call.append(.array, of: "{ss}") { () throws(BusFailure) in
      for (name, value) in attributes {
        try call.append(.dictionaryEntry, of: "ss") { () throws(BusFailure) in
          try call.append(name)
          try call.append(value)
        }
      }
    }
  }
}
