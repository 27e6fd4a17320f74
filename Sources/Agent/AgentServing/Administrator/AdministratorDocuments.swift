internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPermissions
internal import AgentPorts
internal import AgentProtocol
internal import AgentStore
internal import AgentUpkeep
internal import JSONRPC

/// Reads the documents of the administrator's files: those of `provider.add` and of `policy.set`
/// (docs/administrator.md). A bad one is a problem, and the others count.
struct AdministratorDocuments {
  private let signer: any ClientKeySigner
  private var found: AdministratorContent

  static func read(_ listing: AdministratorListing, signer: any ClientKeySigner) -> AdministratorContent {
    var documents = AdministratorDocuments(signer: signer, found: AdministratorContent(mark: listing.mark))
    documents.each(of: listing.providers) { $0.provider($1, $2) }
    if listing.policies.isHidden { documents.found.unread.append(UnreadPolicy(name: nil, path: listing.policies.path)) }
    documents.each(of: listing.policies, unused: { $0.unread($1, nil) }) { $0.policy($1, $2) }
    return documents.found
  }

  private mutating func each(
    of folder: AdministratorListing.Folder, unused: (inout Self, AdministratorListing.File) -> Void = { _, _ in },
    _ read: (inout Self, AdministratorListing.File, [UInt8]) -> Void
  ) {
    if let problem = folder.problem { add(problem, folder.path) }
    for file in folder.files {
      switch file.content {
      case .bytes(let bytes): read(&self, file, bytes)
      case .problem(let text):
        add(text, file.path)
        unused(&self, file)
      }
    }
  }

  private mutating func add(_ text: String, _ path: String) {
    found.problems.append(AdministratorProblem(path: path, text: text))
  }

  private mutating func add(_ text: String, at pointer: String, of file: AdministratorListing.File, _ bytes: [UInt8]) {
    let place = bytes.withUnsafeBytes { bytes in
      var tape = JSONTape()
      guard (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)) != nil else {
        return JSONTextPosition(ofErrorIn: bytes)
      }
      return tape.withRoot(of: bytes) { root -> JSONTextPosition? in
        let node = root.nearest(to: pointer)
        return JSONTextPosition(ofOffset: node.raw.baseAddress! - bytes.baseAddress!, in: bytes)
      }
    }
    let shown = place.map { ":\($0.line):\($0.column)" } ?? ""
    add("\(file.path)\(shown): \(text)", file.path)
  }

  // MARK: providers

  private mutating func provider(_ file: AdministratorListing.File, _ bytes: [UInt8]) {
    do throws(DocumentProblem) {
      let provider = try described(file, bytes)
      let name = provider.configuration.name
      if let other = found.providers.first(where: { $0.provider.configuration.name == name }) {
        return add("The provider \(name.text) is described by \(other.path) already.", at: "/name", of: file, bytes)
      }
      found.providers.append(ManagedProvider(provider, path: file.path))
    } catch {
      add(error.text, at: error.pointer, of: file, bytes)
    }
  }

  private func described(_ file: AdministratorListing.File, _ bytes: [UInt8]) throws(DocumentProblem) -> Provider {
    try bytes.withUnsafeBufferPointer { (bytes) throws(DocumentProblem) -> Provider in
      let bytes = UnsafeRawBufferPointer(bytes)
      var tape = JSONTape()
      do throws(JSONScanner.Failure) { try JSONScanner.scan(bytes, onto: &tape) } catch {
        throw DocumentProblem(
          text: error == .duplicateKeys ? "An object names one member twice." : "This is not JSON (RFC 8259).")
      }
      let params = try tape.withRoot(of: bytes) { (root) throws(DocumentProblem) -> ProviderAdd.Params in
        do throws(ParamsProblem) {
          guard root.kind == .object, root["name"] == nil else { return try ProviderAdd.Params(from: root) }
          return try ProviderAdd.Params(naming: file.stem, root)
        } catch {
          throw DocumentProblem(error)
        }
      }
      let provider: Provider
      do throws(AgentFailure) {
        provider = try Provider(describedBy: params, signer: signer)
      } catch {
        throw DocumentProblem(error)
      }
      guard params.clientId != nil || provider.configuration.kind != .openid else {
        throw DocumentProblem(
          pointer: "/clientId", text: "`clientId` is missing: the client that your organisation registered there.")
      }
      return provider
    }
  }

  // MARK: policies

  private mutating func policy(_ file: AdministratorListing.File, _ bytes: [UInt8]) {
    do throws(PolicyProblems) {
      let document = try PolicyDocument(parsing: bytes)
      if let other = found.policies.first(where: { $0.policy.name == document.name }) {
        return add("The policy \(document.name) is in \(other.source.text) already.", at: "/name", of: file, bytes)
      }
      found.policies.append(ManagedPolicy(document, as: RawJSON(stored: bytes), from: .file(file.path)))
    } catch {
      unread(file, bytes)
      // Each is a line of `lanyard doctor`.
      for problem in error.list.prefix(Self.mostProblems) {
        add(problem.text, at: problem.pointer, of: file, bytes)
      }
    }
  }

  /// Notes a policy whose document can't be used: under the name that it gives itself, or else under any, also the file's.
  private mutating func unread(_ file: AdministratorListing.File, _ bytes: [UInt8]?) {
    let own = bytes?.withUnsafeBytes { bytes -> String? in
      var tape = JSONTape()
      guard (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)) != nil else { return nil }
      return tape.withRoot(of: bytes) { $0.kind == .object ? $0["name"]?.string : nil }
    }
    let name = own.flatMap(\.self).flatMap { PolicyDocument.isName($0) ? $0 : nil }
    found.unread.append(UnreadPolicy(name: name, path: file.path))
    if name == nil, PolicyDocument.isName(file.stem) {
      found.unread.append(UnreadPolicy(name: file.stem, path: file.path))
    }
  }

  /// Of one policy.
  private static let mostProblems = 8
}

/// What is wrong with a document, and where.
private struct DocumentProblem: Error {
  var pointer = ""
  var text: String

  init(pointer: String = "", text: String) {
    self.pointer = pointer
    self.text = text
  }

  init(_ problem: ParamsProblem) {
    let isUnknown = problem.expected == ParamsProblem.unknownMember
    self.init(
      pointer: problem.path,
      text: isUnknown
        ? "There is no such member of a provider: `\(problem.path)`."
        : "`\(problem.path)` must be: \(problem.expected).")
  }

  init(_ failure: AgentFailure) {
    guard case .invalidParameter(let path, let expected) = failure else {
      self.init(text: failure.message)
      return
    }
    self.init(pointer: path, text: "`\(path)` must be: \(expected).")
  }
}

extension ProviderAdd.Params {
  /// Reads a document that does not name its provider.
  fileprivate init(naming name: String, _ root: JSONNode) throws(ParamsProblem) {
    let named = RawJSON { writer in
      writer.beginObject()
      writer.member("name", name)
      for (key, value) in root.members {
        writer.key(key.string ?? "")
        writer.raw(value.raw)
      }
      writer.endObject()
    }
    self = try named.withBytes { bytes -> Result<ProviderAdd.Params, ParamsProblem> in
      var tape = JSONTape()
      guard (try? JSONScanner.scan(bytes, onto: &tape)) != nil else {
        return .failure(ParamsProblem(expected: "object"))
      }
      return tape.withRoot(of: bytes) { root in
        do throws(ParamsProblem) {
          return .success(try ProviderAdd.Params(from: root))
        } catch {
          return .failure(error)
        }
      }
    }.get()
  }
}

extension JSONNode {
  /// The value at a JSON Pointer (RFC 6901); where it does not lead anywhere, the last value on its way.
  fileprivate func nearest(to pointer: String) -> JSONNode {
    var node = self
    for step in pointer.split(separator: "/") {
      let next =
        switch node.kind {
        case .object: node.members.first { JSONPointer.step(to: $0.key.string ?? "").dropFirst() == step }?.value
        case .array: Int(step).flatMap { Array(node.elements).dropFirst($0).first }
        default: JSONNode?.none
        }
      guard let next else { return node }
      node = next
    }
    return node
  }
}
