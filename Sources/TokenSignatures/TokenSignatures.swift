// TokenSignatures: see Package.swift.
