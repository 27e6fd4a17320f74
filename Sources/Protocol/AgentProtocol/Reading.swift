internal import AgentModel
internal import JSONRPC
internal import Secrets

/// Readers for values of params, used by the generated code. Each throws `ParamsProblem` if the value does not match.
extension JSONNode {
  func text(_ rule: TextRule) throws(ParamsProblem) -> String {
    if let plain = plainText {
      guard rule.allows(plain) else { throw ParamsProblem(expected: rule.expected) }
      return String(decoding: plain, as: UTF8.self)
    }
    guard var text = string else { throw ParamsProblem(expected: rule.expected) }
    guard text.withUTF8({ rule.allows(UnsafeRawBufferPointer($0)) }) else {
      throw ParamsProblem(expected: rule.expected)
    }
    return text
  }

  /// Reads a text and parses it into a type of `AgentModel`.
  func text<Value>(_ rule: TextRule, as parse: (String) -> Value?) throws(ParamsProblem) -> Value {
    guard let value = parse(try text(rule)) else { throw ParamsProblem(expected: rule.expected) }
    return value
  }

  /// Copies a text from the line directly into guarded memory.
  func secret(_ length: ClosedRange<Int>) throws(ParamsProblem) -> Secret {
    guard kind == .string else { throw ParamsProblem(expected: TextRule(length).expected) }
    let bytes = SecretBytes(capacity: textCapacity) { copyText(into: $0) }
    guard bytes.withBytes({ TextRule.fits($0, length) }) else {
      throw ParamsProblem(expected: TextRule(length).expected)
    }
    return Secret(bytes)
  }

  func integer(_ range: ClosedRange<Int>) throws(ParamsProblem) -> Int {
    guard let integer, range.contains(Int(integer)) else {
      throw ParamsProblem(expected: "integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return Int(integer)
  }

  func boolean() throws(ParamsProblem) -> Bool {
    guard let bool else { throw ParamsProblem(expected: "boolean") }
    return bool
  }

  func word<Word: RawRepresentable & CaseIterable>(
    _ type: Word.Type
  ) throws(ParamsProblem) -> Word where Word.RawValue == String {
    guard let text = string, let word = Word(rawValue: text) else {
      throw ParamsProblem(expected: "one of " + Word.allCases.map(\.rawValue).joined(separator: ", "))
    }
    return word
  }

  func list<Item>(
    _ count: ClosedRange<Int>, of read: (JSONNode) throws(ParamsProblem) -> Item
  ) throws(ParamsProblem) -> [Item] {
    func problem() -> ParamsProblem {
      ParamsProblem(expected: "array of \(count.lowerBound) to \(count.upperBound) items")
    }
    guard kind == .array else { throw problem() }
    var items: [Item] = []
    for element in elements {
      guard items.count < count.upperBound else { throw problem() }
      do throws(ParamsProblem) { items.append(try read(element)) } catch { throw error.below(items.count) }
    }
    guard count.contains(items.count) else { throw problem() }
    return items
  }

  func map<Value>(
    atMost maximum: Int, names: TextRule?, of read: (JSONNode) throws(ParamsProblem) -> Value
  ) throws(ParamsProblem) -> WireMap<Value> {
    guard kind == .object else { throw ParamsProblem(expected: "object") }
    var map = WireMap<Value>()
    for (key, value) in members {
      guard map.entries.count < maximum else { throw ParamsProblem(expected: "object of at most \(maximum) members") }
      do throws(ParamsProblem) {
        let name = try names.map { (rule) throws(ParamsProblem) in try key.text(rule) } ?? key.string ?? ""
        map.entries.append(.init(name: name, value: try read(value)))
      } catch {
        throw error.below(key)
      }
    }
    return map
  }

  /// Any value, as written.
  func json() throws(ParamsProblem) -> RawJSON { RawJSON(self) }

  func jsonObject(atMost maximum: Int) throws(ParamsProblem) -> RawJSON {
    guard kind == .object, members.reduce(0, { count, _ in count + 1 }) <= maximum else {
      throw ParamsProblem(expected: "object of at most \(maximum) members")
    }
    return RawJSON(self)
  }

  /// Reads `2030-01-01T00:00:00.000Z`. The rule checks the format, this function the calendar.
  func timestamp() throws(ParamsProblem) -> Timestamp {
    try text(.instant) { text in
      let digits = [UInt8](text.utf8).map { Int64($0) - Int64(UInt8(ascii: "0")) }
      func number(_ range: Range<Int>) -> Int64 { range.reduce(0) { $0 * 10 + digits[$1] } }
      let seconds = Timestamp(
        year: number(0..<4), month: number(5..<7), day: number(8..<10), hour: number(11..<13),
        minute: number(14..<16), second: number(17..<19))
      let instant = seconds + Milliseconds(number(20..<23))
      // An invalid date (month 13, February 30) comes back as another date.
      return instant.rfc3339 == text ? instant : nil
    }
  }
}
