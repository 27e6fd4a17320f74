/// How a person shows that they are there: the word of policies, events and records.
///
/// Open, so that a method can be built and tried before the contract knows it; policies may name only `allCases`.
public struct StepUpMethod: RawRepresentable, Hashable, Sendable, CaseIterable {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  public static let pin = StepUpMethod(rawValue: "pin")

  /// Those of `Schemas/policy.schema.json`.
  public static let allCases = [pin]

  /// As a person reads it in a sentence: the PIN.
  public var noun: String { self == .pin ? "PIN" : rawValue }
}
