/// A schema of the dialect (Schemas/README.md): a subset of JSON Schema 2020-12, with `x-secret`.
public struct Schema: Hashable, Sendable {
  /// The type of the values.
  public indirect enum Kind: Hashable, Sendable {
    /// `$ref` to a file of `types/`.
    case reference(String)
    case object(ObjectShape)
    /// An object whose member names are data (`additionalProperties` without `properties`).
    case map(MapShape)
    case array(ArrayShape)
    case string(StringShape)
    /// A string with `enum`.
    case enumeration([String])
    case integer(ClosedRange<Int>)
    case boolean
    /// A schema without `type`.
    case anything
  }

  /// An object with known members.
  public struct ObjectShape: Hashable, Sendable {
    /// One of `properties`.
    public struct Member: Hashable, Sendable {
      public var name: String
      public var schema: Schema
      public var isRequired: Bool
    }
    /// The members, in the order of the file.
    public var members: [Member]
    /// `additionalProperties: false`, as params are. Other objects may grow.
    public var isClosed: Bool
    /// `not.required`: members that exclude each other.
    public var exclusive: [String]
    /// `minProperties`; 0 if absent.
    public var minimumMembers: Int
  }

  /// An object whose member names are data.
  public struct MapShape: Hashable, Sendable {
    /// The schema of the values; nil for any value.
    public var values: Schema?
    /// The schema of the names (`propertyNames`); nil for any name.
    public var names: Schema?
    /// `maxProperties`.
    public var maximumMembers: Int
  }

  /// An array.
  public struct ArrayShape: Hashable, Sendable {
    /// The schema of the elements.
    public var items: Schema
    /// `minItems` and `maxItems`.
    public var count: ClosedRange<Int>
  }

  /// A string without `enum`.
  public struct StringShape: Hashable, Sendable {
    /// `minLength` and `maxLength`, in code points (JSON Schema 2020-12 §6.3.1).
    public var length: ClosedRange<Int>
    /// `pattern`; nil if absent.
    public var pattern: TextPattern?
    /// `format`, which is informative; nil if absent.
    public var format: String?
  }

  /// The type of the values.
  public var kind: Kind
  /// `title`; nil if absent.
  public var title: String?
  /// `description`; nil if absent.
  public var description: String?
  /// `x-secret`: values are kept in guarded memory and never logged.
  public var isSecret: Bool
  /// `default`, which the agent fills in; nil if absent.
  public var defaultValue: JSONValue?

  /// The shape of an object; nil for another type.
  public var object: ObjectShape? {
    guard case .object(let shape) = kind else { return nil }
    return shape
  }

  /// The name of the type that `$ref` refers to; nil for another schema.
  public var reference: String? {
    guard case .reference(let name) = kind else { return nil }
    return name
  }
}
