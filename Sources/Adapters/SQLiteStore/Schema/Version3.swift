extension Migration {
  /// The audit log's ring of decisions, so that they never displace other entries. Earlier ones stay in `audit`.
  static let version3 = Migration(
    version: 3,
    makes: ["auditDecision"],
    sql: """
      CREATE TABLE auditDecision (
        sequence INTEGER NOT NULL PRIMARY KEY CHECK (sequence > 0),
        keyEpoch INTEGER NOT NULL,
        link     BLOB    NOT NULL CHECK (length(link) = 32),
        sealed   BLOB    NOT NULL
      ) STRICT;
      """)
}
