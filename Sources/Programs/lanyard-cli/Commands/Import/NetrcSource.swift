import CommandSupport
import JSONRPC

/// `.netrc`: a password for each host. None is a refresh token, so that nothing is taken over; an entry goes when an
/// account answers for its host.
struct NetrcSource: ImportSource {
  let program = ".netrc"
  private let file: String?
  private let common: CommonOptions

  init(_ request: ImportRequest) {
    file = request.file
    common = request.common
  }

  private static let expected = "lines of .netrc: machine HOST login NAME password WORD"

  func entries() throws(CommandFailure) -> [ImportEntry] {
    let usual = try StoreFile.path(in: "NETRC", orHome: ".netrc")
    guard let store = try StoreFile.named(file, orUsual: usual) else { return [] }
    guard let machines = NetrcFile(store.contents)?.machines else { throw store.malformed(Self.expected) }
    guard !machines.isEmpty else { return [] }
    store.warnOfReaders()
    var agent = try common.connect()
    var entries: [ImportEntry] = []
    for machine in machines {
      var entry = ImportEntry(name: machine.host ?? "default")
      entry.server = machine.host.map { "https://\($0)" }
      entry.user = machine.user
      entry.place = store.named
      entry.lack = "a password is not a refresh token"
      if let url = entry.server {
        let choice = try Self.choice(for: url, user: machine.user, via: &agent)
        entry.answeredBy = try choice.map { account throws(CommandFailure) in
          try AccountInfo.named(account, via: &agent).label
        }
        entry.advice =
          entry.answeredBy == nil
          ? ["Choose its account: `lanyard rule add \(ErrorMessages.shellWord(url)) ACCOUNT`."]
          : ["Its token in this form: `lanyard credential netrc \(ErrorMessages.shellWord(url))`."]
      } else {
        entry.lack = "it is for all hosts, and a rule can't cover all hosts"
      }
      entries.append(entry)
    }
    return entries.named()
  }

  private static func choice(
    for url: String, user: String?, via agent: inout AgentConnection
  ) throws(CommandFailure) -> String? {
    do throws(CommandFailure) {
      return try agent.call("account.resolve") { writer in
        writer.member("url", url)
        writer.member("user", user)
      } result: {
        $0["account"]?.string
      }
    } catch {
      guard error.name == "notFound" || error.name == "accountAmbiguous" || error.problem?.path == "/url" else {
        throw error
      }
      return nil
    }
  }

  func remove(_ entry: ImportEntry) throws(CommandFailure) -> String {
    guard let store = try StoreFile.read(entry.place) else { return "\(entry.place) is gone already" }
    guard let machines = NetrcFile(store.contents)?.machines else { throw store.malformed(Self.expected) }
    let meant = machines.first { $0.host.map { "https://\($0)" } == entry.server && $0.user == entry.user }
    guard let meant else { throw store.unchanged("the entry is gone already") }
    guard !meant.hasMacro else { throw store.unchanged("a macdef belongs to the entry; remove it by hand") }
    let rest = store.contents.part(0..<meant.range.lowerBound)
    store.contents.part(meant.range.upperBound..<store.contents.count).withBytes { rest.append($0) }
    try store.replace(by: rest)
    return "its entry is cut out of \(store.path)"
  }

  func switchOver(to account: String) -> [String] { [] }
}

/// The entries of a `.netrc` file. Passwords are skipped.
struct NetrcFile {
  struct Machine: Equatable {
    /// Nil for `default`.
    var host: String?
    var user: String?
    var hasMacro = false
    /// The bytes of the entry: whole lines where no other entry shares them.
    var range: Range<Int>
  }

  private(set) var machines: [Machine] = []

  /// Nil if the bytes are something else.
  init?(_ contents: HeldBytes) {
    let found = contents.withBytes { bytes in Self.parse(bytes) }
    guard let found else { return nil }
    machines = found
  }

  private static func parse(_ bytes: UnsafeRawBufferPointer) -> [Machine]? {
    var machines: [Machine] = []
    var scanner = NetrcScanner(bytes)
    while let word = scanner.next() {
      switch String(decoding: bytes[word], as: UTF8.self) {
      case "machine":
        guard let host = scanner.next(isValue: true) else { return nil }
        machines.append(Machine(host: scanner.value(host), range: word.lowerBound..<scanner.index))
      case "default": machines.append(Machine(host: nil, range: word.lowerBound..<word.upperBound))
      case "macdef":
        guard !machines.isEmpty, scanner.next(isValue: true) != nil else { return nil }
        scanner.skipMacro()
        machines[machines.count - 1].hasMacro = true
      case "login":
        guard !machines.isEmpty, let user = scanner.next(isValue: true) else { return nil }
        machines[machines.count - 1].user = scanner.value(user)
        machines[machines.count - 1].range = machines[machines.count - 1].range.lowerBound..<scanner.index
      case "password", "passwd", "account":
        guard !machines.isEmpty, scanner.next(isValue: true) != nil else { return nil }
        machines[machines.count - 1].range = machines[machines.count - 1].range.lowerBound..<scanner.index
      default: return nil
      }
    }
    return machines.map { machine in
      var machine = machine
      machine.range = wholeLines(machine.range, in: bytes)
      return machine
    }
  }

  private static func wholeLines(_ range: Range<Int>, in bytes: UnsafeRawBufferPointer) -> Range<Int> {
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0D }
    let line = bytes[..<range.lowerBound].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    let lineEnd = bytes[range.upperBound...].firstIndex(of: 0x0A) ?? bytes.count
    guard bytes[line..<range.lowerBound].allSatisfy(isBlank),
      bytes[range.upperBound..<lineEnd].allSatisfy(isBlank)
    else { return range }
    return line..<min(lineEnd + 1, bytes.count)
  }
}

/// The words of a `.netrc` file: separated by white space, quoted where they contain some; `#` begins a comment.
private struct NetrcScanner {
  private let bytes: UnsafeRawBufferPointer
  private(set) var index = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  private var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }

  /// A value may begin with `#`.
  mutating func next(isValue: Bool = false) -> Range<Int>? {
    while let byte, Self.isSpace(byte) || !isValue && byte == UInt8(ascii: "#") {
      if byte == UInt8(ascii: "#") {
        while let byte = self.byte, byte != 0x0A { index += 1 }
      } else {
        index += 1
      }
    }
    guard let first = byte else { return nil }
    let start = index
    index += 1
    if first == UInt8(ascii: "\"") {
      while let byte, byte != first { index += byte == UInt8(ascii: "\\") ? 2 : 1 }
      index = min(index + 1, bytes.count)
    } else {
      while let byte, !Self.isSpace(byte) { index += 1 }
    }
    return start..<index
  }

  /// A word without its quotes.
  func value(_ range: Range<Int>) -> String {
    guard bytes[range.lowerBound] == UInt8(ascii: "\"") else { return String(decoding: bytes[range], as: UTF8.self) }
    var (text, isEscaped) = ([UInt8](), false)
    for byte in bytes[range].dropFirst() {
      if !isEscaped, byte == UInt8(ascii: "\"") { break }
      isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
      if !isEscaped { text.append(byte) }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// A macro ends at an empty line.
  mutating func skipMacro() {
    var isEmpty = false
    while let byte {
      index += 1
      if byte == 0x0A {
        if isEmpty { return }
        isEmpty = true
      } else if !Self.isSpace(byte) {
        isEmpty = false
      }
    }
  }
}
