import AgentCore
import CommandSupport
import FileRules
import Glibc
import JSONRPC

/// What a kind of program needs in a sandbox: a profile of this program, or of the person (docs/sandbox.md, Profiles).
struct SandboxProfile: Equatable {
  let name: String
  /// Origins to which it passes without a token, unless an account serves them.
  var pass: [String] = []
  /// Directories below the home that are kept between runs. They begin with `~/`.
  var keep: [String] = []
  /// Directories and files, if they are there.
  var read: [String] = []
  var write: [String] = []
  /// Names of variables that it gets from this environment.
  var env: [String] = []
  /// Variables with their values; `~/` is the home.
  var set: [String: String] = [:]

  struct Fault: Error, Equatable { let sentence: String }

  /// The person's own profile of this name, else the one of this program.
  static func named(_ name: String) throws(CommandFailure) -> SandboxProfile {
    guard isName(name) else {
      throw .usage("\(Text.shown(name)) is no name of a profile: letters, digits, -, _ and dots.")
    }
    let path = try StoreFile.configuration("lanyard/sandbox/\(name).json")
    if let own = try contents(of: path) { return try read(name, own, of: path) }
    guard let text = builtIn[name] else {
      let known = builtIn.keys.sorted()
      let near = NearMiss.all(of: name, among: known).first
      throw .usage(
        "There is no profile \(name)." + (near.map { " Did you mean \($0)?" } ?? ""),
        hints: [
          "There are \(known.joined(separator: ", ")), and yours in \(Text.shown(AgentPaths.directory(of: path)))."
        ]
      )
    }
    return try read(name, Array(text.utf8), of: name)
  }

  private static let mostBytes = 64 << 10

  /// Nil if there is no such file.
  private static func contents(of path: String) throws(CommandFailure) -> [UInt8]? {
    do throws(FileFault) {
      return try FileRule.ownFile.contents(of: path, followingLinks: true, atMost: mostBytes)
    } catch {
      if error.code == ENOENT || error.code == ENOTDIR { return nil }
      throw unused(path, reason(error))
    }
  }

  private static func unused(_ place: String, _ reason: String) -> CommandFailure {
    CommandFailure(
      .other, name: "profile", "The profile \(Text.shown(place)) is not used: \(reason). The command was not run.")
  }

  private static func reason(_ fault: FileFault) -> String {
    switch fault {
    case .system(let error): SystemError.message(error)
    case .link, .otherKind: "it is no plain file"
    case .foreignOwner: "it belongs to another user"
    case .openToOthers: "other users can write it"
    case .tooLarge: "it has more than \(mostBytes >> 10) KiB"
    }
  }

  private static func read(_ name: String, _ bytes: [UInt8], of place: String) throws(CommandFailure) -> SandboxProfile
  {
    switch bytes.withUnsafeBytes({ parse(name, $0) }) {
    case .success(let profile): return profile
    case .failure(let fault): throw unused(place, fault.sentence)
    }
  }

  /// Strict: what is misspelt must not be lost.
  static func parse(_ name: String, _ bytes: UnsafeRawBufferPointer) -> Result<SandboxProfile, Fault> {
    var tape = JSONTape()
    do { try JSONScanner.scan(bytes, onto: &tape) } catch { return .failure(Fault(sentence: "it is no JSON")) }
    return tape.withRoot(of: bytes) { root in
      guard root.kind == .object else { return .failure(Fault(sentence: "it is no JSON object")) }
      var profile = SandboxProfile(name: name)
      for (key, value) in root.members {
        if let fault = profile.take(key.string ?? "", value) { return .failure(fault) }
      }
      return .success(profile)
    }
  }

  private mutating func take(_ member: String, _ value: JSONNode) -> Fault? {
    if member == "set" { return takeVariables(value) }
    guard let list = Self.lists[member] else {
      let known = (Self.lists.keys + ["set"]).sorted().joined(separator: ", ")
      return Fault(sentence: "\(member) is no member of a profile: those are \(known)")
    }
    guard value.kind == .array else { return Fault(sentence: "\(member) is no list") }
    for element in value.elements {
      guard let text = element.string, list.accepts(text) else {
        return Fault(sentence: "\(member) has \(element.text), which is \(list.want)")
      }
      self[keyPath: list.path].append(text)
    }
    return nil
  }

  private mutating func takeVariables(_ value: JSONNode) -> Fault? {
    guard value.kind == .object else { return Fault(sentence: "set is no object") }
    for (key, value) in value.members {
      guard let name = key.string, Self.isVariable(name), let text = value.string, !text.utf8.contains(0) else {
        return Fault(sentence: "set has \(key.text), which is no variable with a text")
      }
      set[name] = text
    }
    return nil
  }

  private struct List {
    let path: WritableKeyPath<SandboxProfile, [String]>
    let accepts: (String) -> Bool
    /// What is wrong with another element.
    let want: String
  }

  private static var lists: [String: List] {
    [
      "pass": List(path: \.pass, accepts: isOrigin, want: "no origin, such as https://pypi.example, and not *"),
      "keep": List(path: \.keep, accepts: isBelowHome, want: "no path below the home, such as ~/.cache/tool"),
      "read": List(path: \.read, accepts: isPlace, want: "no path that begins with / or ~/"),
      "write": List(path: \.write, accepts: isPlace, want: "no path that begins with / or ~/"),
      "env": List(path: \.env, accepts: isVariable, want: "no name of a variable"),
    ]
  }

  static func isName(_ text: String) -> Bool {
    !text.isEmpty && !text.hasPrefix(".") && text.utf8.count <= 64
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
        default: false
        }
      }
  }

  /// Without a value: that would stand in lists of processes.
  static func isVariable(_ text: String) -> Bool { !text.contains("=") && TokenVariable(text) != nil }

  private static func isOrigin(_ text: String) -> Bool { PassedOrigins.normal(text) != nil }

  private static func isPlace(_ text: String) -> Bool {
    (text.hasPrefix("/") || text.hasPrefix("~/")) && !text.utf8.contains(0)
  }

  private static func isBelowHome(_ text: String) -> Bool {
    guard text.hasPrefix("~/"), !text.utf8.contains(0) else { return false }
    let parts = text.dropFirst(2).split(separator: "/", omittingEmptySubsequences: false)
    return parts.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
  }
}
