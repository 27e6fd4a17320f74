extension Migration {
  /// The first schema. No column names a person or a server: ids are keyed digests, contents are sealed.
  static let version1 = Migration(
    version: 1,
    makes: ["store", "metadata", "keySlot", "record", "recordByKey", "recordByKind", "audit", "auditDecision"],
    sql: """
      -- The database itself: its random id, and how many batches were committed. The count tells, after a failed
      -- sync, whether a batch has landed.
      CREATE TABLE store (
        one        INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
        databaseID BLOB    NOT NULL CHECK (length(databaseID) = 16),
        batches    INTEGER NOT NULL CHECK (batches >= 0)
      ) STRICT;

      INSERT INTO store (one, databaseID, batches) VALUES (1, randomblob(16), 0);

      CREATE TABLE metadata (
        name  TEXT NOT NULL PRIMARY KEY,
        value BLOB NOT NULL
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE keySlot (
        number         INTEGER NOT NULL PRIMARY KEY CHECK (number >= 0),
        protection     TEXT    NOT NULL,
        parameters     BLOB    NOT NULL,
        commitment     BLOB    NOT NULL,
        keyEpoch       INTEGER NOT NULL,
        wrappedRootKey BLOB    NOT NULL
      ) STRICT;

      -- The contents last, so that a scan over keys does not read them. A row's own number ties no other table to
      -- it, and an update keeps it: both indexes stay untouched.
      CREATE TABLE record (
        row        INTEGER NOT NULL PRIMARY KEY,
        partition  BLOB    NOT NULL CHECK (length(partition) = 16),
        kind       INTEGER NOT NULL,
        id         BLOB    NOT NULL,
        schema     INTEGER NOT NULL,
        keyEpoch   INTEGER NOT NULL,
        generation INTEGER NOT NULL,
        sealed     BLOB    NOT NULL
      ) STRICT;

      CREATE UNIQUE INDEX recordByKey ON record (partition, kind, id);

      -- For the pass over one kind at the agent's start.
      CREATE INDEX recordByKind ON record (kind);

      -- The audit log: tables of their own, since it is long, grows only at its end, and belongs to no partition. Its
      -- decisions are a ring of their own, so that they never displace other entries.
      CREATE TABLE audit (
        sequence INTEGER NOT NULL PRIMARY KEY CHECK (sequence > 0),
        keyEpoch INTEGER NOT NULL,
        link     BLOB    NOT NULL CHECK (length(link) = 32),
        sealed   BLOB    NOT NULL
      ) STRICT;

      CREATE TABLE auditDecision (
        sequence INTEGER NOT NULL PRIMARY KEY CHECK (sequence > 0),
        keyEpoch INTEGER NOT NULL,
        link     BLOB    NOT NULL CHECK (length(link) = 32),
        sealed   BLOB    NOT NULL
      ) STRICT;
      """)
}
