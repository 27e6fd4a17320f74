// SchemaKit: see Package.swift.
