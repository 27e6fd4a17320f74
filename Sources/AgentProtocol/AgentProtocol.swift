/// TEMPORARY
public struct ErrorCode: RawRepresentable, Hashable, Sendable {
  public var rawValue: Int
  public var name: String = ""
  public var isRetryable = false
  public init(rawValue: Int) { self.rawValue = rawValue }
  init(_ r: Int, _ n: String, _ t: Bool) { rawValue = r; name = n; isRetryable = t }
  public static let parseError = ErrorCode(-32700, "parseError", false)
  public static let invalidRequest = ErrorCode(-32600, "invalidRequest", false)
  public static let methodNotFound = ErrorCode(-32601, "methodNotFound", false)
  public static let invalidParams = ErrorCode(-32602, "invalidParams", false)
  public static let internalError = ErrorCode(-32603, "internalError", false)
  public static let agentLocked = ErrorCode(1001, "agentLocked", true)
  public static let shuttingDown = ErrorCode(1002, "shuttingDown", true)
  public static let overloaded = ErrorCode(1003, "overloaded", true)
  public static let requestCancelled = ErrorCode(1004, "requestCancelled", true)
  public static let unsupportedProtocol = ErrorCode(1005, "unsupportedProtocol", false)
  public static let timedOut = ErrorCode(1006, "timedOut", true)
  public static let notPermitted = ErrorCode(1007, "notPermitted", false)
  public static let unlockFailed = ErrorCode(1008, "unlockFailed", true)
  public static let accountNotFound = ErrorCode(2001, "accountNotFound", false)
  public static let accountAmbiguous = ErrorCode(2002, "accountAmbiguous", false)
  public static let signedOut = ErrorCode(2003, "signedOut", false)
  public static let reauthenticationRequired = ErrorCode(2004, "reauthenticationRequired", false)
  public static let interactionRequired = ErrorCode(2005, "interactionRequired", false)
  public static let accountLocked = ErrorCode(2006, "accountLocked", false)
  public static let signInFailed = ErrorCode(2007, "signInFailed", false)
  public static let dataLocked = ErrorCode(2008, "dataLocked", false)
  public static let offline = ErrorCode(3001, "offline", true)
  public static let providerUnavailable = ErrorCode(3002, "providerUnavailable", true)
  public static let providerMisconfigured = ErrorCode(3003, "providerMisconfigured", false)
  public static let untrustedServer = ErrorCode(3004, "untrustedServer", false)
  public static let providerNotFound = ErrorCode(3005, "providerNotFound", false)
  public static let storeUnavailable = ErrorCode(5001, "storeUnavailable", true)
  public static let integrity = ErrorCode(5002, "integrity", false)
  public static let rolledBack = ErrorCode(5003, "rolledBack", false)
  public static let notFound = ErrorCode(6003, "notFound", false)
}
