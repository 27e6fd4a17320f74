internal import AgentModel
internal import JSONRPC

extension AgentConfiguration {
  /// Reads a file strictly: an unknown member is a problem.
  ///
  /// - Throws: every problem of the file.
  public init(parsing text: [UInt8]) throws(ConfigurationProblems) {
    self = try text.withUnsafeBufferPointer { (text) throws(ConfigurationProblems) -> AgentConfiguration in
      let bytes = UnsafeRawBufferPointer(text)
      var tape = JSONTape()
      guard (try? JSONScanner.scan(bytes, onto: &tape)) != nil else {
        let place = JSONScanner.failurePosition(in: bytes) ?? bytes.count
        throw ConfigurationProblems(list: [.init(at: place, in: bytes, "This is not JSON (RFC 8259).")])
      }
      return try tape.withRoot(of: bytes) { (root) throws(ConfigurationProblems) -> AgentConfiguration in
        var reader = ConfigurationReader(bytes: bytes)
        let configuration = reader.configuration(root)
        guard reader.problems.isEmpty else {
          throw ConfigurationProblems(list: reader.problems.sorted { ($0.line, $0.column) < ($1.line, $1.column) })
        }
        return configuration
      }
    }
  }
}

extension ConfigurationProblem {
  init(at offset: Int, in bytes: UnsafeRawBufferPointer, _ text: String) {
    let place = JSONTextPosition(ofOffset: offset, in: bytes)
    self.init(line: place.line, column: place.column, text: text)
  }
}

private struct ConfigurationReader {
  let bytes: UnsafeRawBufferPointer
  private(set) var problems: [ConfigurationProblem] = []

  init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  mutating func configuration(_ root: JSONNode) -> AgentConfiguration {
    var found = AgentConfiguration()
    let known = ["caFile", "proxy", "clientIdMetadataDocument", "lockAfterSeconds", "lockOn", "limits"]
    for (name, value) in members(of: root, known) {
      switch name {
      case "caFile": found.caFile = text(value, 4095, "an absolute path") { $0.hasPrefix("/") && $0 != "/" }
      case "proxy":
        found.proxy = text(
          value, 2048, "http, https, socks5 or socks5h, ://, a host and a port; or none", where: ProxyAddress.isValid)
      case "clientIdMetadataDocument":
        found.clientIDMetadataDocument = text(
          value, 512, "an https URL with a path, without a query, a fragment, a user name and dot segments",
          where: ClientIDMetadataDocument.isURL)
      case "lockAfterSeconds": found.lockAfter = integer(value, 1...31_536_000).map { .seconds($0) }
      case "lockOn": found.lockOn = lockEvents(value)
      default: limits(value, &found)
      }
    }
    return found
  }

  private mutating func limits(_ node: JSONNode, _ found: inout AgentConfiguration) {
    for (name, value) in members(of: node, ["connections", "requestsInFlight"]) {
      switch name {
      case "connections": found.connections = integer(value, 8...4096).map(Int.init)
      default: found.requestsInFlight = integer(value, 1...1024).map(Int.init)
      }
    }
  }

  private mutating func lockEvents(_ node: JSONNode) -> Set<AgentConfiguration.LockEvent> {
    guard node.kind == .array else {
      add(node, "This must be a list of `sleep` and `screen`.")
      return []
    }
    var events: Set<AgentConfiguration.LockEvent> = []
    for element in node.elements {
      guard let event = element.string.flatMap(AgentConfiguration.LockEvent.init) else {
        add(element, "This must be `sleep` or `screen`.")
        continue
      }
      if !events.insert(event).inserted { add(element, "This stands here twice.") }
    }
    return events
  }

  /// The known members; unknown and repeated ones are problems.
  private mutating func members(of node: JSONNode, _ known: [String]) -> [(name: String, value: JSONNode)] {
    guard node.kind == .object else {
      add(node, "This must be an object.")
      return []
    }
    var found: [(name: String, value: JSONNode)] = []
    for (key, value) in node.members {
      let name = key.string ?? ""
      if !known.contains(name) {
        add(key, "There is no such member here. Known: \(known.joined(separator: ", ")).")
      } else if found.contains(where: { $0.name == name }) {
        add(key, "This member stands here twice.")
      } else {
        found.append((name, value))
      }
    }
    return found
  }

  private mutating func text(
    _ node: JSONNode, _ most: Int, _ what: String, where isGood: (String) -> Bool
  ) -> String? {
    guard let text = node.string, text.unicodeScalars.count <= most, isGood(text) else {
      add(node, "This must be \(what).")
      return nil
    }
    return text
  }

  private mutating func integer(_ node: JSONNode, _ range: ClosedRange<Int64>) -> Int64? {
    guard let value = node.integer, range.contains(value) else {
      add(node, "This must be a whole number from \(range.lowerBound) to \(range.upperBound).")
      return nil
    }
    return value
  }

  private mutating func add(_ node: JSONNode, _ text: String) {
    problems.append(.init(at: node.raw.baseAddress! - bytes.baseAddress!, in: bytes, text))
  }
}
