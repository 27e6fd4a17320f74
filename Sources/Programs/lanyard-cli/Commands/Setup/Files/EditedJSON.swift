import JSONRPC

/// The text of a JSON file in which one member is set or removed. Every other byte stays: order, white space, line ends,
/// a byte order mark and, where the tool allows them, comments and trailing commas.
struct EditedJSON {
  private let text: [UInt8]
  /// The text with a space for each byte of a comment, of a trailing comma and of the byte order mark: plain JSON.
  private let plain: [UInt8]
  private let trailingCommas: Set<Int>

  /// Nil for what is no JSON object. A blank text is an object without members.
  init?(_ text: String, allowsComments: Bool) {
    self.text = Array(text.utf8)
    var blanked = BlankedJSON(self.text)
    guard blanked.run(allowsComments: allowsComments) else { return nil }
    plain = blanked.plain
    trailingCommas = blanked.trailingCommas
    guard isBlank || withRoot({ $0.kind == .object }) == true else { return nil }
  }

  private var isBlank: Bool { plain.allSatisfy(Self.isSpace) }

  /// Lends the root to `body`; nil for a blank text.
  func withRoot<Result>(_ body: (JSONNode) -> Result) -> Result? {
    plain.withUnsafeBytes { bytes in
      var tape = JSONTape()
      guard (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)) != nil else { return nil }
      return tape.withRoot(of: bytes, body)
    }
  }

  // MARK: setting

  /// The text with the member, which must be absent, in front of the others of its object. Missing objects are added.
  func setting(_ path: [String], to value: JSONValue) -> String {
    guard !isBlank else {
      return Self.string(text) + JSONValue.object(nesting: path, value).laidOut(JSONLayout()) + "\n"
    }
    let objects = objects(along: path)
    guard let root = objects.first, let object = objects.last else { return Self.string(text) }
    let name = path[objects.count - 1]
    let nested = JSONValue.object(nesting: Array(path[objects.count...]), value)
    let lineEnd = text.contains(0x0A) && isWindows ? "\r\n" : "\n"
    let layout = JSONLayout(lineEnd: lineEnd, indent: indent(of: root))
    // A file on one line stays on one line.
    if isOnOneLine(object), !object.members.isEmpty || (!plain.contains(0x0A) && !root.members.isEmpty) {
      let comma = object.members.isEmpty ? "" : ","
      return edited([(object.open + 1..<object.open + 1, nested.member(name, nil) + comma)])
    }
    let base = leadingSpace(at: object.open)
    let margin = object.members.first.map { leadingSpace(at: $0.start) } ?? base + layout.indent
    let member = lineEnd + margin + nested.member(name, layout.indented(by: margin))
    if let first = object.members.first {
      return edited([(endOfLine(from: object.open + 1, limit: first.start), member + ",")])
    }
    guard isOnOneLine(object) else { return edited([(endOfLine(from: object.open + 1, limit: object.close), member)]) }
    let inside = object.open + 1..<object.close
    let isEmpty = text[inside].allSatisfy(Self.isSpace)
    return edited([(isEmpty ? inside : inside.lowerBound..<inside.lowerBound, member + lineEnd + base)])
  }

  // MARK: removing

  /// The text without the member, and without the objects that are empty then; empty if no member is left at all.
  func removing(_ path: [String]) -> String {
    var objects = objects(along: path)
    guard objects.count == path.count else { return Self.string(text) }
    while let object = objects.popLast() {
      guard let index = object.members.firstIndex(where: { $0.name == path[objects.count] }) else { break }
      if object.members.count == 1, isEmpty(object, without: object.members[0]) {
        if !objects.isEmpty { continue }
        let around = text[..<object.open] + text[(object.close + 1)...]
        if around.allSatisfy({ Self.isSpace($0) || $0 >= 0x80 }) { return "" }
      }
      return edited(removals(of: index, in: object))
    }
    return Self.string(text)
  }

  private func isEmpty(_ object: Object, without member: Member) -> Bool {
    (object.open + 1..<member.start).allSatisfy { Self.isSpace(text[$0]) }
      && (member.end..<object.close).allSatisfy { Self.isSpace(text[$0]) || trailingCommas.contains($0) }
  }

  private func removals(of index: Int, in object: Object) -> [(Range<Int>, String)] {
    let member = object.members[index]
    var start = member.start
    while start > 0, text[start - 1] == 0x20 || text[start - 1] == 0x09 { start -= 1 }
    let beginsLine = start > 0 && text[start - 1] == 0x0A
    if beginsLine {
      start -= start > 1 && text[start - 2] == 0x0D ? 2 : 1
    } else {
      start = member.start
    }
    if let comma = comma(after: member.end) {
      let hasTwoSpaces = !beginsLine && text[start - 1] == 0x20 && text[comma + 1] == 0x20
      return [(start..<comma + (hasTwoSpaces ? 2 : 1), "")]
    }
    guard index > 0, let before = comma(after: object.members[index - 1].end) else { return [(start..<member.end, "")] }
    return [(before..<before + 1, ""), (max(start, before + 1)..<member.end, "")]
  }

  private func comma(after end: Int) -> Int? {
    for place in end..<text.count {
      if trailingCommas.contains(place) { return place }
      if !Self.isSpace(plain[place]) { return plain[place] == UInt8(ascii: ",") ? place : nil }
    }
    return nil
  }

  // MARK: places

  private struct Object {
    var open: Int
    var close: Int
    var members: [Member]
  }

  private struct Member {
    var name: String
    var start: Int
    var end: Int
  }

  /// The objects that lead to a member, from the root; fewer if one of them is missing.
  private func objects(along path: [String]) -> [Object] {
    plain.withUnsafeBytes { bytes in
      func place(_ raw: UnsafeRawBufferPointer) -> Int { raw.baseAddress! - bytes.baseAddress! }
      func object(_ node: JSONNode) -> Object {
        let members = node.members.map { key, value in
          Member(name: key.string ?? "", start: place(key.raw), end: place(value.raw) + value.raw.count)
        }
        return Object(open: place(node.raw), close: place(node.raw) + node.raw.count - 1, members: members)
      }
      var tape = JSONTape()
      guard (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)) != nil else { return [] }
      return tape.withRoot(of: bytes) { root in
        var (found, node) = ([object(root)], root)
        for name in path.dropLast() {
          guard let next = node.members.first(where: { $0.key.string == name })?.value, next.kind == .object else {
            break
          }
          found.append(object(next))
          node = next
        }
        return found
      }
    }
  }

  private var isWindows: Bool { text.firstIndex(of: 0x0A).map { $0 > 0 && text[$0 - 1] == 0x0D } ?? false }

  private func isOnOneLine(_ object: Object) -> Bool {
    !plain[object.open..<(object.members.first?.start ?? object.close)].contains(0x0A)
  }

  /// An empty range before the end of the line on which `place` is.
  private func endOfLine(from place: Int, limit: Int) -> Range<Int> {
    var end = place
    while end < limit, plain[end] != 0x0A { end += 1 }
    if end > place, text[end - 1] == 0x0D { end -= 1 }
    return end..<end
  }

  private func leadingSpace(at place: Int) -> String {
    var start = place
    while start > 0, text[start - 1] != 0x0A { start -= 1 }
    return Self.string(text[start..<place].prefix { $0 == 0x20 || $0 == 0x09 })
  }

  private func indent(of root: Object) -> String {
    guard let first = root.members.first, !isOnOneLine(root) else { return "  " }
    let found = leadingSpace(at: first.start)
    return found.isEmpty ? "  " : found
  }

  private func edited(_ edits: [(Range<Int>, String)]) -> String {
    var new = text
    for (range, replacement) in edits.reversed() { new.replaceSubrange(range, with: replacement.utf8) }
    return Self.string(new)
  }

  private static func string(_ bytes: some Collection<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
}
