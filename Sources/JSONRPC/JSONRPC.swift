// JSONRPC: see Package.swift.
