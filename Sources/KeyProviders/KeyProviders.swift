// KeyProviders: see Package.swift.
