public import AgentModel
public import JSONRPC

/// The contract as Swift: every method, event, error and type of `Schemas/`.
///
/// `Generated/` is written by `lanyard-schemas generate`; this file and its neighbours are what that code stands on.
///
/// | on the wire | here |
/// |---|---|
/// | method `token.get` | `enum TokenGet: RPCMethod` with `Params`, `Result` and `info` |
/// | all methods | `MethodTable.all`, sorted by name; `MethodTable.byName` |
/// | `types/token.json` | `struct WireToken`; a set of words is an enum of raw strings, `WireAccountState` |
/// | event `token.refreshed` | `struct TokenRefreshedEvent: WireEvent`, its `data`; `EventType.tokenRefreshed` |
/// | error 2004 | `ErrorCode.reauthenticationRequired` |
/// | account, alias, provider name, instant | `AccountID`, `Alias`, `ProviderName`, `Timestamp` of `AgentModel` |
/// | `account` of params | `AccountSelector` of `AgentModel` |
/// | a member with `x-secret` | `Secret`: read straight into guarded memory, written straight out of it |
/// | any JSON, an object of data | `RawJSON`, its bytes as they were written |
/// | an object whose names are data | `WireMap` |
/// | the answer of `rpc.discover` | `OpenRPCDocument.text` |
/// | `schemaDigest`, `protocol` | `AgentContract`; the groups of `features` are `MethodInfo.feature` |
///
/// `Params(from:)` judges everything that the schema says (unknown and missing members, types, bounds, patterns,
/// words) and throws `ParamsProblem`, which is the `path` and `expected` of an error -32602. A handler gets values
/// that need no second look, with the defaults of the contract filled in.
public protocol RPCMethod {
  associatedtype Params: WireReadable & Sendable
  associatedtype Result: WireWritable & Sendable
  /// What the contract says about the method as a whole.
  static var info: MethodInfo { get }
}

extension RPCMethod {
  public static var name: String { info.name }
  public static var feature: String { info.feature }
  public static var carriesBody: Bool { info.carriesBody }
}

/// What is read from params.
public protocol WireReadable {
  init(from node: JSONNode) throws(ParamsProblem)
}

extension WireReadable {
  /// What a request without `params` says: the same as `{}`.
  public static func none() throws(ParamsProblem) -> Self {
    var tape = JSONTape()
    let nothing: StaticString = "{}"
    let bytes = UnsafeRawBufferPointer(start: nothing.utf8Start, count: nothing.utf8CodeUnitCount)
    guard (try? JSONScanner.scan(bytes, onto: &tape)) != nil else { preconditionFailure("{} is JSON") }
    return try tape.withRoot(of: bytes) { (node) throws(ParamsProblem) in try Self(from: node) }
  }
}

/// The params of a method that is account-scoped.
public protocol AccountScopedParams {
  var account: AccountSelector { get set }
}

/// What is written as a result, or into one.
public protocol WireWritable: Sendable {
  func write(to writer: inout JSONWriter)
}

/// The data of an event.
public protocol WireEvent: WireWritable, Sendable {
  static var type: EventType { get }
}

/// A method of the contract.
public struct MethodInfo: Sendable {
  /// When later requests of the same connection may begin.
  public enum Ordering: Sendable {
    /// At once; answers come in any order.
    case concurrent
    /// Only after this one has been answered.
    case connection
  }

  /// How a grant limits a method (Schemas/README.md, Under a grant).
  public enum UnderGrant: Sendable {
    /// Its `account` must be covered.
    case account
    /// It answers as though only the covered accounts were there.
    case covered
    /// It tells nothing of any account.
    case shared
    /// Every caller may: it gives nothing out.
    case always
    /// It is about the agent as a whole: `*` does not mean it, a grant must name it.
    case agent
  }

  public let name: String
  /// The version of the protocol that brought it.
  public let since: String
  /// Its group in the `features` of `agent.hello`.
  public let feature: String
  /// Its params have a required `account`, and its result tells the account's id.
  public let accountScoped: Bool
  /// What a caller that is limited to some accounts gets of it, if its grant covers the method.
  public let underGrant: UnderGrant
  public let ordering: Ordering
  /// Sent twice, it does no more than sent once.
  public let idempotent: Bool
  /// Its line may be as long as `bodyLineBytes`.
  public let carriesBody: Bool
  /// Beside `ErrorCode.common`, which every method can answer.
  public let errors: [ErrorCode]
}
