public import AgentModel
public import JSONRPC

/// The contract in Swift: every method, event and type of `Schemas/`.
///
/// `lanyard-schemas generate` writes `Generated/`, which builds on this file and its neighbours.
///
/// | On the wire | In Swift |
/// |---|---|
/// | method `token.get` | `enum TokenGet: RPCMethod` with `Params`, `Result` and `info` |
/// | all methods | `MethodTable.all`, sorted by name; `MethodTable.byName` |
/// | `types/token.json` | `struct WireToken`; a type with `enum` is a Swift enum, such as `WireAccountState` |
/// | event `token.refreshed` | `struct TokenRefreshedEvent: WireEvent`, its `data`; `EventType.tokenRefreshed` |
/// | error 2004 | `FailureKind.reauthenticationRequired` of `AgentModel` |
/// | account, alias, provider name, instant | `AccountID`, `Alias`, `ProviderName`, `Timestamp` of `AgentModel` |
/// | `account` of params | `AccountSelector` of `AgentModel` |
/// | a member with `x-secret` | `Secret`, in guarded memory from reading to writing |
/// | any JSON, an object of data | `RawJSON`, its bytes as written |
/// | an object whose member names are data | `WireMap` |
/// | the result of `rpc.discover` | `OpenRPCDocument.text` |
/// | `schemaDigest`, `protocol` | `AgentContract`; the groups of `features` are `MethodInfo.feature` |
///
/// `Params(from:)` checks everything that the schema requires (unknown and missing members, types, bounds, patterns,
/// enumerations) and throws `ParamsProblem`, which gives `path` and `expected` of error -32602. Handlers therefore get
/// valid values, with the contract's defaults filled in.
public protocol RPCMethod: SendableMetatype {
  associatedtype Params: WireReadable & Sendable
  associatedtype Result: WireWritable & Sendable
  /// The method's properties in the contract.
  static var info: MethodInfo { get }
}

extension RPCMethod {
  public static var name: String { info.name }
  public static var feature: String { info.feature }
  public static var carriesBody: Bool { info.carriesBody }
}

/// A type that can be read from params.
public protocol WireReadable {
  /// Reads a value.
  ///
  /// - Throws: `ParamsProblem` if it does not match the schema.
  init(from node: JSONNode) throws(ParamsProblem)
}

extension WireReadable {
  /// The value for a request without `params`: as for `{}`.
  ///
  /// - Throws: `ParamsProblem` if a member is required.
  public static func none() throws(ParamsProblem) -> Self {
    var tape = JSONTape()
    let nothing: StaticString = "{}"
    let bytes = UnsafeRawBufferPointer(start: nothing.utf8Start, count: nothing.utf8CodeUnitCount)
    guard (try? JSONScanner.scan(bytes, onto: &tape)) != nil else { preconditionFailure("{} is JSON") }
    return try tape.withRoot(of: bytes) { (node) throws(ParamsProblem) in try Self(from: node) }
  }
}

/// The params of an account-scoped method.
public protocol AccountScopedParams: Sendable {
  /// The account that the request names.
  var account: AccountSelector { get set }
}

/// A type that can be written into a result or an event.
public protocol WireWritable: Sendable {
  /// Writes the value as JSON.
  func write(to writer: inout JSONWriter)
}

/// The properties of a method.
public struct MethodInfo: Sendable {
  /// When later requests on the same connection may start.
  public enum Ordering: Sendable {
    /// At once; responses may arrive in any order.
    case concurrent
    /// Only after the response to this one.
    case connection
  }

  /// A grant's restriction of a method (Schemas/README.md, Under a grant).
  public enum UnderGrant: Sendable {
    /// The grant must cover the request's `account`.
    case account
    /// The result is limited to the covered accounts.
    case covered
    /// The result concerns no account, so it is the same for every caller.
    case shared
    /// Every caller may use it, because it discloses nothing.
    case always
    /// The method concerns the whole agent: `*` does not cover it, a grant must name it.
    case agent
    /// No grant covers it: it reaches beyond every account, such as the keys of the vault, or any host.
    case never
  }

  /// The method's name, such as `token.get`.
  public let name: String
  /// The protocol version that introduced the method.
  public let since: String
  /// The method's group in `features` of `agent.hello`.
  public let feature: String
  /// True if params require an `account` and the result contains the account's id.
  public let accountScoped: Bool
  /// The restriction for a caller whose grant covers the method.
  public let underGrant: UnderGrant
  /// When later requests on the same connection may start.
  public let ordering: Ordering
  /// True if a repeated request has no further effect.
  public let idempotent: Bool
  /// True if the request line may have up to `bodyLineBytes` bytes.
  public let carriesBody: Bool
}
