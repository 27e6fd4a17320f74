// HTTPAdapter: see Package.swift.
