// PRACTICE ONLY. These private keys are public: every reader of this file can sign with them. They exist because
// generating a 2048-bit RSA key takes a tenth of a second and differs each time, and tests want neither. The practice
// provider listens on loopback and protects nothing.

/// RSA keys as PKCS #1 DER in base64.
enum PracticeOnlyKeys {
  static let rsa: [String] = [
    """
    MIIEpAIBAAKCAQEAndrQiohzrERWoJ81XwrQjLV05d84hmWTcg+aymtY7T9Gl4LqcxUQfhnfMd4iSMmHiKjqqsyzag3qa1Srmxd7r95czc3PHo\
    FBqY87+P7llQFqOBPO2aWGtgoMxFPE/g+JKkmZT7NCfksFsYAoGZH4pmbHRXM7DXajdLyU5uAPCM95hNdyJzsvxutjMaRnQqbDl/zjh650Eme1\
    3gaU+6DvGMvkvoCCS9jEg5Cf4v0Q/PEmps3SBNw0JhUxUGbb6XlOCxqKNDSR2cA3k5hrne7XHt78IzMLr3v65OmRwhIorOGJBaqOpoHquo4q4s\
    o+2wNtiTE2oKHIm2K1QT71EquZWwIDAQABAoIBAD2949qDk4baNe3eR9BUWQzoPoBYxnGe0kSHQPqScTZejPxe+tencgt4kBmfslY46Re1RhAn\
    P7eoGLwBYpunXDwGI9Nlf/EFCotJGGKERIT7CDJF4R61BRM3rBWwVDkxF2vgXKRVT5k5O9FY+JZDx3dCdQe/keXqtPVIe48wLQE7E9dotK0Ule\
    qBghBuHI9cAIDJwXN9fdAuwbJgTq+L/GEj3kvjcDSrH8Xsb3JoAinhXQXOlC6GK/urdylgQGn6tTf8emoRblhEUDE9gQ6KDjT3wq8qImo9JfZu\
    pyHIojWQvqZ1xjIFFKeZkMjWeNwSUpyWhif32USkkM5yOGflwdECgYEA1Z2PvG2N/8TubhoKTs2Si8bDVoaYVOpkdlZEM8M/8nLv8D/0mFSDz8\
    ywSKSl6BoNH3WfQ3QRUpefY1s1pfnSK8LV9IoCcAxwowR2dicMznTwAVad/ajxW9lXlF9RDgf1RkQgVGumskZ7vzbPBCZ39/cCDuunvLThEJ2v\
    R/kGhksCgYEAvSztsmG+dHjl9PAhv4TeIVQtBRHVxyJ+hJ+iDSvyyrZD55f4jkpAA484nJB7wZFOpkhAK0EoflaBAGX7AjtDQKzy/g2B5gXzPd\
    ZJnnUy81OU83MTgObITG1w6E3RrW4evNByOjEoANgopc08O3a9Iy4DkJCW3SlitEDcMUk4jzECgYEAgWnrYqScmo+cQ2fTRtqUJcpNHWZ9czRt\
    mKO6vgFUBHZNlqeob4EEOigvxFK7kFn4CU8hJaRzui3Rikf/wIYRJiHrrTLPN0LSGnDhs8MEpy+BF855+OsZDiQmQuVcHbwEhIVRcNOnMeoxni\
    5+TG1h0P/8Zz2taU3L7F0bi+b6ZPECgYEAgtyMhSQWUo27TUe7oLdxzY5kIiinQDx9VpLyz7fCGTYiHRfEafG0/IFbgPp1kX5J8L70HLfTIioG\
    zNa+31lNeXTqFpITdKJTFEii3olmOGpuFEZbjISYtD3Up+4FCLqvap+rFNQiPwtIewFRFDVcOvS+pIdQxSa2z8g6SaHEDVECgYAoc6EV2+9X9Y\
    N7oXwAEM3mR14gSEjPxsFTMx71IoLSg8iJuICvmZhtT9UxoT70ywyvkzEFWm0zGR2b7sBYe0SaMe9VqKDWISS/esmJ4lUnL0KzNqxGi+xW6QNr\
    a64kW6iHfnbamh43pQgeZjDjGbyQozDRqpi6eGgpY50CMoX4Ow==
    """,
    """
    MIIEowIBAAKCAQEAumz2Vc7oIUWm0dxNK8//ISw+fU0Y2JgNME+TBXQVIwtWhfJKXAyA4y4rqWLgOCzpoS67K/kssR0foYGD9Coi1smBeQiCUR\
    7g0jr2FNIYKpW7G6TCFqUconHv8w0iZJ8XYPojQYSoi0adwuhvsNxvlmZAjjjNFpySuxmJ1kUfE59R5EBjQ7TURn+VMM9rI0UE6I0PtB3vrBWB\
    v21jE5fPG/wO0ZdV/HCoz+6od4kQrC3wYbJbDt8Cdf5q2viwlofjj0Qgxa1TudGmO4XExLNL9K0hZeT0YF2aq7AyIcb/C87MZADt4JwAkIYz9p\
    U+FR/hVQUqWtjxApj8gvupQ3IjdQIDAQABAoIBAApnFCPbpNZedZ2WRnQgaiMmveHuEGndqja86f5O6PMIqe5Vg9K5G+QRanxMOSjJUMweuHEO\
    uXC0qFQxzvQr+b+0hNYFJIh0SaVRhvPIeXK+4i77tZzf38Ysx2/vlrC4s+xEaP058tG6wgjjQYBD/LIOyKFnCAKv//wSw79CIibND3KXbS9PIW\
    uGkBnVHf8MLqL64dW27MsRKhmA6DvZpj4WJLBMBxgxUfoWBokTt9wSObf/QVfTSvZY5NHkSkLEDH93X3jace2LYRN9SNktkYFuBIRdwteySafX\
    L5oBxHiBpB4MTPz882Idv/T0qUr2MgmzD594qPJABQx4dgEBXgECgYEA/i2jSkvZsvsmSmDfofnQ35JNz0ut5liEtDIjEWATFTF+I6jo/rH3xP\
    I/s18UJrGEm7pEoFRoAq98g7dfSU4LuUT9jgA1p1LLiRWssmvXIGKEs6CUtH3QLeOhzyw0kCzE3TEMndZzTB0LcwlR4MHItXF1uM0S1rqwNjkg\
    IuZ40/UCgYEAu8MDUTLqjLPdNBqLWAamXCM/r0AiBJEZ20uygGj5RjhO0o6f9ogdmDwMBH0sQW1j1SnYdbM1xX0DvwrhbPMPXMvKLsqnSmY7e4\
    VOcU714iNggTRjamojfHP+dwlbYKQ6iugpgx8YFpcaATW+IceUtDEL4sftIowqEPJ1W48R4YECgYAQRRWVtOM7fK4Hxsmp0ZbYKMJISZzZCMN9\
    0VPDUfYGvkNHvxEi9HtapPME5Uoh6+0EFtk7tgtuWJNMzxkPVSqU8mCUjVjh2//hR3zlctezX/sEkHvUTdVcipyZ6Ud4DxWO3wviso5wyc8ozu\
    jpzR2u15Nkf+P70LlkzyVKdpw3XQKBgCYWQt//whBUk/RzxfxPLQPXqp10FvJyNJqFWmot4RLbbTHM+KnbppUw6QcoFQgYln2xBVWqyqeK2m2w\
    WVXuYBlkxViEhzbSUhKWUfkuGTaMEpFi/R+i9BvUs7OV1FFgPvfabEFK12oNsJq6Oh1EDOgYYt7Xy0SMxiO16xRtiyUBAoGBAPg3qPXjOVa5Cz\
    mnODup4Mxc3ftj5jwbgpzLJCrAn3phjuyMQqPyCpv0QPeMOd+jYmGAl61Qv2PjmnYiz2HJ+8nzphkuKFHClHLJPlCLInudLEqgl0K/11oS5FRG\
    aGuxeSXZxhg+JoBwjQNTbFpByrVbJSUiASXSK46p7G0dKbkK
    """,
    """
    MIIEowIBAAKCAQEAsk3YqWBR5wX1IqzboyEHRvGjiRFj69RulHNVJtezMYN1ND9c39chT0e+mFDeh7cFnSdjAKek4VKylOsRd/iuOeeHUk5zSh\
    RbV6wv//z1XP6lwjDG89I0HGEnKjpUVnpIifZQZo61f0iz1mQm/WbW3TTk6ph6PmVzpnPUWBCGP974LZoOHwos4bKR6ON74RFKZldLHGmfG9BT\
    SkeWGEXiyHm1J0ZyfNO8wGa4svuFUjTwOrTjajzWU2hmANIAZvKLK+fFb+h51hDbAAtiQEDpqvUMDQ+zkRvuCoWUcTDdpmYCknhv+7YhqdAnNB\
    kYQW5lCGQvOy8Dy2lXI7Y3wuUUPwIDAQABAoIBAAerwLP8wFlLkNHGlQZuH9WGBM6bUGyvbXh2g8XRhtSM/shaJ4E7zKOQBxufcwtsrNGnhaNc\
    EwRcnfE5Mb2zFa/JDbHVTTF1Mb7SWhhNxjKThAcYOR75PqOv7FLtQn6b8S36Slg3MIjC1HXXRjQlrf3DTkvndm7jx3d0SUDmqRfrSdoGt8w3TO\
    VU0L0aXeN8usw42htfrxHbVIvYIxczqKFjLX+RaS7iInXeP2+A0ULJHvf1EtDavjTWzFcGmm8nNZBdSEo3NoNHUmz5I7kKwLc0iUn3T2OMc2yr\
    25Yg4m98j5EXmzWvPGRmhaiHg9z0GOdtAsdbfuk1cT8JbZajXxkCgYEA51o5LKtoGNXRZZn8u82N4R1bu2z+AJ0Jgv248m7CtGPSlBMI7C4QEx\
    GqtjHRhWdTk0mD2k2GczpNEtPGIMvuRm4BQvcWp+PBo25rI07kfRieDFm83EaHV+2UJtr59XHwJCsk4M2nSy2nAr2GBUt0/KEopFaRxdDMLgOf\
    kD6mnfkCgYEAxUzP5SKLDSJJfdnDv8WN07PhsyqDgO/2lM/JWFDfZmkHSvWPN+x+ceNU+U+z2Yv2rVXKOr0k4W7/42BZ9jxk2yObLh9W87k2rv\
    wIge8X5RuClODk8f+NR5vOIV1VUWdxXpgRekU3R9Tr/F85YIyQO7q6OunbASwcdggaOryWMfcCgYA+TJ142e9+QJXStlTIfeHm7PD217LOl3so\
    OwrCvfDQgtEB7t5IO184w1klFuVE9z4aO4G2F4pNHTYEC+MekcvoS1croT4Il9xdFi7joysERMzKpp+k8ZkgpGlwzSbiYXw5QST9JGQYaoK+yi\
    p84oTuQrefCXDXxBI3keI2Baj4gQKBgCVsd3agAb4hBc2gU7f5cfh5A1Onub/oRF5ft3JQDL/xJhf60gqqiiVyGHkdvCCEouqn/i78F5XHJzRq\
    30WMmRjT/ShXe3fJZuz0E20J+/9SI4e3zNV2QscVb5j2iithsqhdsdr+bAjtA0IgkdKVdvpNZeus1gS36EIfMVJ42QhrAoGBAKKhhXHTsOxSil\
    UaTN540fffRmH0TndNf4VAxOSKjV0W6JEQ9lrz85LS1FjWge9xbXSWN1k25MBgKkRdwV8cihveECgEFQHP0mMW/a1UXzeg42Ayr1aXYEjTDFF1\
    R2Vf0Nna1zEP+7EZbJisg+jTyDkfdXXjxpyJDjPyZsNnpvA/
    """,
  ]

  /// The public half of `PracticeClient.practiceOnlyKey`.
  static let clientPublicKey = """
    -----BEGIN PUBLIC KEY-----
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEBrMtOHCP1B/EhBD2jqxzHkjVNaZu
    FwqdmhiKGRWOwENG8/8puHGtcGQL57WpEwg7olRxbu3pa4XiB5rGXRIusQ==
    -----END PUBLIC KEY-----
    """

  /// The private half, as PKCS #8.
  static let clientPrivateKey = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgq9Bt+SKfWlmXRd7S
    Kpiry0gYtS0fs3PxVhbR4+8HZ+GhRANCAAQGsy04cI/UH8SEEPaOrHMeSNU1pm4X
    Cp2aGIoZFY7AQ0bz/ym4ca1wZAvntakTCDuiVHFu7elrheIHmsZdEi6x
    -----END PRIVATE KEY-----
    """
}
