// UnixTransport: see Package.swift.
