extension Migration {
  /// The audit log: a table of its own, since it is long, grows only at its end, and belongs to no partition.
  static let version2 = Migration(
    version: 2,
    makes: ["audit"],
    sql: """
      CREATE TABLE audit (
        sequence INTEGER NOT NULL PRIMARY KEY CHECK (sequence > 0),
        keyEpoch INTEGER NOT NULL,
        link     BLOB    NOT NULL CHECK (length(link) = 32),
        sealed   BLOB    NOT NULL
      ) STRICT;
      """)
}
