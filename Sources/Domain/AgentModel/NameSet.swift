/// Names that a provider gives: roles, entitlements. Each is the text that the provider wrote, byte for byte (`ExactText`).
public struct NameSet: Hashable, Sendable, ExpressibleByArrayLiteral {
  private var names: Set<ExactText>

  public init(_ names: some Sequence<String>) { self.names = Set(names.map(ExactText.init)) }

  public init(arrayLiteral names: String...) { self.init(names) }

  public var isEmpty: Bool { names.isEmpty }
  public var count: Int { names.count }

  public func contains(_ name: String) -> Bool { names.contains(ExactText(name)) }

  public mutating func insert(_ name: String) { names.insert(ExactText(name)) }

  /// In the order of their bytes.
  public func sorted() -> [String] { names.sorted().map(\.text) }
}
