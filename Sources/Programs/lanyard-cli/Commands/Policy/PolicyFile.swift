import CommandSupport
import JSONRPC

/// A policy document from a file, with the positions of its parts.
struct PolicyFile: ~Copyable {
  private let path: String
  private let input: SecretInput
  private let tape: JSONTape
  /// The member `name`; nil if it is missing.
  let name: String?

  /// `-` reads stdin.
  init(_ path: String) throws(CommandFailure) {
    let input = try SecretInput.text(of: path)
    var tape = JSONTape()
    let shown = path == "-" ? "stdin" : path
    let name = try input.withBytes { (bytes) throws(CommandFailure) -> String? in
      var hasDuplicateKeys = false
      do throws(JSONScanner.Failure) { try JSONScanner.scan(bytes, onto: &tape) } catch .duplicateKeys {
        hasDuplicateKeys = true
      } catch {
        let place = JSONTextPosition(ofErrorIn: bytes).map { ":\($0.line):\($0.column)" } ?? ""
        throw CommandFailure.usage("\(shown)\(place) is not JSON from here on. Nothing was sent.")
      }
      return try tape.withRoot(of: bytes) { (root) throws(CommandFailure) -> String? in
        guard root.kind == .object else { throw .usage("\(shown) is not a JSON object. Nothing was sent.") }
        guard !hasDuplicateKeys else {
          let place = Self.duplicate(in: root).flatMap { Self.position(of: $0, in: bytes) }
          let shownPlace = place.map { ":\($0.line):\($0.column)" } ?? ""
          throw .usage("\(shown)\(shownPlace) has two members of the same name in one object. Nothing was sent.")
        }
        return root["name"]?.string
      }
    }
    self.path = shown
    self.input = input
    self.tape = tape
    self.name = name
  }

  /// What it says of requests and budgets.
  var overview: [String] {
    input.withBytes { bytes in tape.withRoot(of: bytes) { PolicyOverview.lines($0) } }
  }

  /// What in it has no effect, though its author may think so.
  var idleApprovals: [String] {
    input.withBytes { bytes in tape.withRoot(of: bytes) { PolicyOverview.idleApprovals($0) } }
  }

  /// Writes the document as a member, on one line.
  borrowing func write(_ member: StaticString, to writer: inout JSONWriter) {
    input.withBytes { bytes in
      tape.withRoot(of: bytes) { root in
        writer.key(member)
        writer.rawOnOneLine(root.raw)
      }
    }
  }

  /// The agent's failure, with a hint for each problem: its line and column, its path, its text.
  borrowing func explaining(_ failure: CommandFailure) -> CommandFailure {
    guard failure.name == "policyInvalid", let wire = failure.wire else { return failure }
    var explained = failure
    explained.hints = problems(in: wire).map { problem in
      let place = position(of: problem.pointer).map { "\(path):\($0.line):\($0.column): " } ?? "\(path): "
      let steps = Self.steps(of: problem.pointer)
      return place + (steps.isEmpty ? "" : steps.joined(separator: " > ") + ": ") + problem.text
    }
    return explained
  }

  private func problems(in wire: String) -> [(pointer: String, text: String)] {
    var wire = wire
    return wire.withUTF8 { text in
      let bytes = UnsafeRawBufferPointer(text)
      var tape = JSONTape()
      guard (try? JSONScanner.scan(bytes, onto: &tape)) != nil else { return [] }
      return tape.withRoot(of: bytes) { error in
        (error["data"]?["problems"].map { Array($0.elements) } ?? []).map {
          ($0["pointer"]?.string ?? "", $0["text"]?.string ?? "")
        }
      }
    }
  }

  /// Line and column, from 1, of the value at a JSON Pointer (RFC 6901), or of its nearest ancestor that exists. The
  /// position of a member is that of its name.
  private borrowing func position(of pointer: String) -> JSONTextPosition? {
    input.withBytes { bytes in
      tape.withRoot(of: bytes) { root in
        var (node, place) = (root, root)
        for name in Self.steps(of: pointer) {
          if node.kind == .array {
            guard let index = Int(name), let element = Array(node.elements).dropFirst(index).first else { break }
            (node, place) = (element, element)
          } else {
            guard let member = node.members.first(where: { $0.key.string == name }) else { break }
            (node, place) = (member.value, member.key)
          }
        }
        return Self.position(of: place, in: bytes)
      }
    }
  }

  private static func position(of node: JSONNode, in bytes: UnsafeRawBufferPointer) -> JSONTextPosition? {
    guard let start = bytes.baseAddress, let found = node.raw.baseAddress else { return nil }
    return JSONTextPosition(ofOffset: found - start, in: bytes)
  }

  /// The second of two member names that are equal in one object, the first such place in the document.
  private static func duplicate(in node: JSONNode) -> JSONNode? {
    switch node.kind {
    case .object:
      var names: Set<String> = []
      for (key, value) in node.members {
        if let name = key.string, !names.insert(name).inserted { return key }
        if let found = duplicate(in: value) { return found }
      }
      return nil
    case .array: return node.elements.lazy.compactMap { duplicate(in: $0) }.first
    default: return nil
    }
  }

  /// The reference tokens of a JSON Pointer, unescaped.
  private static func steps(of pointer: String) -> [String] {
    pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(unescaped)
  }

  /// RFC 6901 §4.
  private static func unescaped(_ token: Substring) -> String {
    var name = ""
    var rest = token
    while let character = rest.popFirst() {
      if character == "~", let code = rest.first, code == "0" || code == "1" {
        rest.removeFirst()
        name.append(code == "0" ? "~" : "/")
      } else {
        name.append(character)
      }
    }
    return name
  }
}
