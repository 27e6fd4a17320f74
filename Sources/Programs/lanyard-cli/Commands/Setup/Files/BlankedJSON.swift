/// Replaces comments, trailing commas and a byte order mark by spaces, so that what follows keeps its place.
struct BlankedJSON {
  private(set) var plain: [UInt8]
  private(set) var trailingCommas: Set<Int> = []
  private var place = 0

  init(_ text: [UInt8]) { plain = text }

  /// False for a comment without an end.
  mutating func run(allowsComments: Bool) -> Bool {
    if plain.starts(with: [0xEF, 0xBB, 0xBF]) { blank(0..<3) }
    guard allowsComments else { return true }
    // The comma after which nothing but white space and comments has come, if a value stands before it.
    var lastComma: Int?
    var followsValue = false
    while place < plain.count {
      switch plain[place] {
      case UInt8(ascii: "\""):
        skipString()
        (lastComma, followsValue) = (nil, true)
      case UInt8(ascii: "/"):
        guard blankComment() else { return false }
      case UInt8(ascii: ","):
        lastComma = followsValue ? place : nil
        followsValue = false
        place += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if let comma = lastComma {
          plain[comma] = 0x20
          trailingCommas.insert(comma)
        }
        (lastComma, followsValue) = (nil, true)
        place += 1
      case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"):
        (lastComma, followsValue) = (nil, false)
        place += 1
      case 0x20, 0x09, 0x0A, 0x0D: place += 1
      default:
        (lastComma, followsValue) = (nil, true)
        place += 1
      }
    }
    return true
  }

  private mutating func skipString() {
    place += 1
    while place < plain.count, plain[place] != UInt8(ascii: "\"") {
      place += plain[place] == UInt8(ascii: "\\") ? 2 : 1
    }
    place += 1
  }

  private mutating func blankComment() -> Bool {
    let start = place
    guard place + 1 < plain.count else { return false }
    switch plain[place + 1] {
    case UInt8(ascii: "/"):
      while place < plain.count, plain[place] != 0x0A { place += 1 }
      // The end of the line is no part of the comment.
      blank(start..<(place > start && plain[place - 1] == 0x0D ? place - 1 : place))
      return true
    case UInt8(ascii: "*"):
      place += 2
      while place + 1 < plain.count {
        if plain[place] == UInt8(ascii: "*"), plain[place + 1] == UInt8(ascii: "/") {
          place += 2
          blank(start..<place)
          return true
        }
        place += 1
      }
      return false
    default: return false
    }
  }

  private mutating func blank(_ range: Range<Int>) {
    for index in range { plain[index] = 0x20 }
  }
}
