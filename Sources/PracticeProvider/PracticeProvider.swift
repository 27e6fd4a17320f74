// PracticeProvider: see Package.swift.
