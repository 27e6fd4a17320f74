// SQLiteStore: see Package.swift.
