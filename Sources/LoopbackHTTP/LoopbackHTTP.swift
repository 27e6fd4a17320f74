// LoopbackHTTP: see Package.swift.
