package import AgentPorts

/// The kinds of records in the vault. The numbers are part of the sealed format.
extension RecordKind {
  /// Names the records of its partition and their generations.
  package static let head = RecordKind(rawValue: 1)
  /// The token key and the data key of one incarnation of an account, wrapped.
  static let accountKeys = RecordKind(rawValue: 2)
  /// The identity of an account, for lists and look-ups.
  package static let profile = RecordKind(rawValue: 3)
  /// The refresh token and the grant's health.
  package static let grant = RecordKind(rawValue: 4)
  /// Written before a refresh token is sent (docs/tokens.md, Journal).
  package static let intent = RecordKind(rawValue: 5)
  /// The provider's raw answer, before it is read (Journal, 3).
  package static let staged = RecordKind(rawValue: 6)
  /// The last ID token, for `id_token_hint` and for the claims that later ID tokens must repeat.
  package static let idToken = RecordKind(rawValue: 7)
  /// Access tokens, where the provider is marked `persistAccessTokens`.
  package static let accessTokens = RecordKind(rawValue: 8)
  /// A value that a client program keeps with the account, and the names of all of them.
  package static let programSecret = RecordKind(rawValue: 9)
  package static let programSecretNames = RecordKind(rawValue: 10)
  /// The snapshot of the person's rights, from the provider's last report.
  package static let snapshot = RecordKind(rawValue: 12)
  /// The PIN's verifier, the tries that are left, and the data key under the PIN (docs/offline.md, Step-up).
  package static let stepUp = RecordKind(rawValue: 11)
  /// The spent attempts at a PIN (`SpentAttempts`).
  package static let spentTries = RecordKind(rawValue: 56)
  /// A configured provider, with its client secret and its metadata.
  package static let provider = RecordKind(rawValue: 16)
  /// The active account.
  package static let activeAccount = RecordKind(rawValue: 17)
  /// Tokens that must still be revoked.
  package static let outbox = RecordKind(rawValue: 18)
  /// Erasures whose data may still be in the log.
  package static let erasure = RecordKind(rawValue: 20)
  /// A policy document, as it was written.
  package static let policy = RecordKind(rawValue: 21)
  /// A caller's grant (docs/callers.md, Grants), without its secret.
  package static let callerGrant = RecordKind(rawValue: 27)
  /// The bounds of the audit log's rings: of security events, and of decisions.
  package static let auditChain = RecordKind(rawValue: 22)
  static let decisionChain = RecordKind(rawValue: 34)
  /// The pepper of PINs that were set under an earlier root key.
  package static let pepper = RecordKind(rawValue: 23)
  /// The index key of look-ups that were made under an earlier root key.
  static let indexKey = RecordKind(rawValue: 24)
  /// The count of changes that an old copy must not undo (`VaultLedger`).
  package static let sequence = RecordKind(rawValue: 25)
  /// The log keys of earlier root keys: entries under them are not sealed again.
  static let logKeys = RecordKind(rawValue: 26)
  /// The generations of some partitions' heads (`VaultLedger`).
  package static let mark = RecordKind(rawValue: 30)
  /// The vault's notes on its key slots (`KeySlotNotes`).
  package static let keySlotNotes = RecordKind(rawValue: 31)
  /// The inbox of the locked vault, in a partition of its own, and the number of the current one.
  package static let drop = RecordKind(rawValue: 28)
  static let dropBox = RecordKind(rawValue: 32)
  /// A value under a PIN in a restored backup, as the other store sealed it (`KeptRecord`).
  package static let keptData = RecordKind(rawValue: 29)
  /// A backup's manifest (`BackupManifest`).
  package static let backup = RecordKind(rawValue: 33)
  /// The last known time (docs/offline.md, Time): the sealed high-water mark.
  package static let trustedTime = RecordKind(rawValue: 19)

  /// A queued operation, its content, and the answer to its request.
  package static let operation = RecordKind(rawValue: 35)
  package static let operationContent = RecordKind(rawValue: 36)
  package static let operationAnswer = RecordKind(rawValue: 37)
  /// How many operations of an account are pending.
  package static let operationTally = RecordKind(rawValue: 38)
  /// What stays of the operations that a PIN seals if they are lost.
  package static let operationTraces = RecordKind(rawValue: 44)
  /// Which account answers for a URL (docs/desktop.md, Which account).
  package static let rule = RecordKind(rawValue: 45)
  /// The credentials of roles that an ID token was exchanged for (docs/desktop.md, AWS).
  package static let roleCredentials = RecordKind(rawValue: 46)
  /// The uses of one capability in the last hour (docs/offline.md, Budgets).
  package static let budget = RecordKind(rawValue: 47)

  /// The organisation's policy bundle in force (docs/policy-bundles.md).
  package static let policyBundle = RecordKind(rawValue: 52)
  /// The agent's id, and the last confirmation by the policy source.
  package static let policySource = RecordKind(rawValue: 53)
  /// A policy of the administrator's files as it was good last (docs/administrator.md).
  package static let administratorPolicy = RecordKind(rawValue: 54)
  /// An import under way, and the provider's raw answer to it (docs/tokens.md, Imports).
  package static let importJournal = RecordKind(rawValue: 55)

  /// True if an old copy of the store must not restore an earlier version of this record.
  var isCounted: Bool {
    switch self {
    case .accountKeys, .profile, .grant, .programSecret, .programSecretNames, .stepUp, .provider, .outbox, .policy,
      .keySlotNotes, .dropBox, .callerGrant, .rule, .policyBundle, .administratorPolicy, .spentTries:
      true
    // It changes when an operation is enqueued and when it ends: an old copy would deliver one again.
    case .operationTally: true
    default: false
    }
  }

  /// The class of the key that seals a record of this kind.
  enum KeyClass { case head, directory, token, data, vault, outbox }

  var keyClass: KeyClass {
    switch self {
    case .head: .head
    case .accountKeys, .profile: .directory
    case .callerGrant, .provider, .activeAccount, .trustedTime, .erasure, .policy, .auditChain, .decisionChain,
      .indexKey, .sequence, .logKeys, .mark, .keySlotNotes, .dropBox, .backup, .operationTally,
      .operationTraces, .rule, .policyBundle, .policySource, .administratorPolicy, .importJournal, .spentTries:
      .vault
    case .outbox: .outbox
    // Secrets of a person's programs: with a PIN, a soft sign-out leaves this key under it alone.
    case .programSecret, .programSecretNames, .operation, .operationContent, .operationAnswer: .data
    default: .token
    }
  }
}
