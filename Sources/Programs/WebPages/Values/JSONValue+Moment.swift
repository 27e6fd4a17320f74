package import AgentModel

extension JSONValue {
  /// An instant in the form of the contract, `2030-01-01T00:00:00.000Z`; nil for anything else.
  package var moment: Timestamp? {
    guard let text = string, text.utf8.count == 24, text.utf8.last == UInt8(ascii: "Z") else { return nil }
    let digits = Array(text.utf8)
    func number(_ range: Range<Int>) -> Int64? {
      digits[range].reduce(Int64?(0)) { sum, digit in
        guard let sum, (0x30...0x39).contains(digit) else { return nil }
        return sum * 10 + Int64(digit - 0x30)
      }
    }
    guard let year = number(0..<4), let month = number(5..<7), (1...12).contains(month), let day = number(8..<10),
      (1...31).contains(day), let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
      let part = number(20..<23)
    else { return nil }
    var moment = Timestamp(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    moment.milliseconds += part
    return moment
  }

  /// The texts of an array of strings.
  var strings: [String] { elements.compactMap(\.string) }
}
