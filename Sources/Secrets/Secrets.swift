// Secrets: see Package.swift.
