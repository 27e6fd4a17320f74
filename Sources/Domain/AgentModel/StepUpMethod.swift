/// A method of step-up authentication: how a person proves their presence. Policies, events and records hold its raw
/// value.
///
/// The type is open, so that a method can be tested before the contract knows it; policies may name only `allCases`.
public struct StepUpMethod: RawRepresentable, Hashable, Sendable, CaseIterable {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  /// A PIN that the person chose for the account.
  public static let pin = StepUpMethod(rawValue: "pin")

  /// A person's confirmation in the agent's own prompt: of one capability, or by the PIN that they type there.
  public static let pinentry = StepUpMethod(rawValue: "pinentry")

  /// The methods of `Schemas/policy.schema.json`.
  public static let allCases = [pin, pinentry]

  /// The method as a noun in a sentence for a person.
  public var noun: String { self == .pin ? "PIN" : self == .pinentry ? "confirmation" : rawValue }
}
