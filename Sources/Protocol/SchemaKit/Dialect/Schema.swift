/// A schema of the dialect (Schemas/README.md): a small part of JSON Schema 2020-12 and `x-secret`.
public struct Schema: Hashable, Sendable {
  public indirect enum Kind: Hashable, Sendable {
    /// `$ref` to a file of `types/`.
    case reference(String)
    case object(ObjectShape)
    /// An object whose member names are data.
    case map(MapShape)
    case array(ArrayShape)
    case string(StringShape)
    case enumeration([String])
    case integer(ClosedRange<Int>)
    case boolean
    case anything
  }

  public struct ObjectShape: Hashable, Sendable {
    public struct Member: Hashable, Sendable {
      public var name: String
      public var schema: Schema
      public var isRequired: Bool
    }
    public var members: [Member]
    /// `additionalProperties: false`: input. What is not closed may grow.
    public var isClosed: Bool
    /// `not.required`: members of which not all may be there.
    public var exclusive: [String]
    public var minimumMembers: Int
  }

  public struct MapShape: Hashable, Sendable {
    /// Nil: any value at all.
    public var values: Schema?
    public var names: Schema?
    public var maximumMembers: Int
  }

  public struct ArrayShape: Hashable, Sendable {
    public var items: Schema
    public var count: ClosedRange<Int>
  }

  public struct StringShape: Hashable, Sendable {
    /// In code points (JSON Schema 2020-12 §6.3.1).
    public var length: ClosedRange<Int>
    public var pattern: TextPattern?
    public var format: String?
  }

  public var kind: Kind
  public var title: String?
  public var description: String?
  public var isSecret: Bool
  public var defaultValue: JSONValue?

  public var object: ObjectShape? {
    guard case .object(let shape) = kind else { return nil }
    return shape
  }

  public var reference: String? {
    guard case .reference(let name) = kind else { return nil }
    return name
  }
}
