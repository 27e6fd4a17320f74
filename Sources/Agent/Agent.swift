// Agent: see Package.swift.
