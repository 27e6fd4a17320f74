/// Private keys as JWKs, made for these tests only.
enum ClientKeyFixtures {
  static let rsa = #"""
    {"kty":"RSA","kid":"r1","alg":"PS256","use":"sig","n":"rJu8Pp9l1xsXG3NBdR_scOpa-7OGUj_ZMHY57iGHITccM\#
    mVMErhopPgdCC0RwFHFiVRQTl_ULKb_ApMc4yMWulo1uinLv_MquFlutkmrE6XwVe80Samo7JxTOjRmdWa7yC9N15thZ1wH4Berx\#
    ef86OrNzd02zLWUncBcTfLQK58082Ty8fBtax0-g2AUeU4JRwB0v-TuC3caT1WuR1PUGGMMIERjlXnTkfQTRp9q2WVRkuuwEbpoO\#
    gYN02GlGDm7TZAhiuyxikGLKLdW1sAjYzp-_RR9-4gbDOxHJ2DoO-rvfEqgRy31iKt-btBlPNMiwkzEJZzXU-0cZuGiriGipQ","\#
    e":"AQAB","d":"KboAONdJxEVtQZqMMWdFPkq5Me3FQ-7hb0C1YmbChvoOm_Q2_rOLwI2mXwqeJvLdoQQ74aZy4VSBgzrTGemqn\#
    eQe5uEhu0ZqhmRASlrmu3o67ltENaaJCqID0KdIOYtbS9p7o-qREm6CDN9MDCy3zAqvM9wNWlFvGu-coM9ZGaIeX1AsjoX4RWCVP\#
    I4bzVk2iamykP9VrpPyUXCiIWzqTXO1FPmfTU7tihLg41-R7p2BJ2dwJJ5wDMjjeV8pwIRyL2GS77W_RCMFCMJ9zpT48CIc2fQgc\#
    C94lFDldy2Bt7Haz8yYdHvUd5lhqIUPPKqa79zYl4NYWrhaVaWl6_SoBQ","p":"3eu2RQRpOCJUqd8GvdJoJzIZYt2GbOa7nMuK\#
    YUJJqhU3wsX36OFABij1YeNhbJVXjqwAeCR2eWeD0OTkp6jpsKk_K_RFGcy-durav_boDWfD-crJZXMR6QaBn7xQzlU-yVKCI6dF\#
    _UclCEpJRTCbTQcNUZHzZYh23_gCHklUCuc","q":"xx1sRRRyE3mZ0vJ4UyeA8UXPjjJrlPiwrpDiI8xa0NwU1WuTt8jTAQ2H3Q\#
    9nd6E3iPFZActzyKLTahcubNImvr93bX8d49EPK8WmUdwp2x1tbFwUaLDLgA7kZWSl_Vh77HuWW961t6nMgTJdNr0f4M8DZSCIf9\#
    XjjD1-KziZoJM","dp":"Zs--_7aNcJ4nDxPuMZ769b22GSF8F5PFs1xw3aIyMoPl82x38AH7AV-UXydSiVWe3NA-32o1IQWeAfc\#
    pH6uXqGqgg6KFKPC8BKfFdE3VL_C00FLsfv2SfJyxDOnXnd_MWMTK2e2y9SYyt-aCj3V3XXY462NsmcthF130zUc3kl0","dq":"\#
    AQ3j093O2NGNAfPstSwBX8Wp2qvjq-9BKDt2JxBe7rorlhGyv4ddrqS-smnxd02wOJZmjT7hhw9tpSMoSMU4FUx4Omkw5FLoDKhI\#
    QCi1RAa83JUEOqWs_imWBf9pbZT5WwAwhJ4CQk2w2oJEwhRwRcVy1Cc-8cZVJRnyQBJVpec","qi":"lF2PelLicUbr4MTLkdev4\#
    VlQHepojSRT_rmZm2a1zMMcitj6JRsw8hKRy2KfqzeaRGxhZfjGG9M-tF2XrwnlK8JWtBcFKWbsQvDVkiSJIqve4l7OnXkIhHZFV\#
    O-R61k7JQIhnGaqEV3z6jCEuYQa1U_Ah_c5WIcdAB7mXy1P8Ok"}
    """#
  static let p256 = #"""
    {"kty":"EC","crv":"P-256","kid":"e1","x":"BrMtOHCP1B_EhBD2jqxzHkjVNaZuFwqdmhiKGRWOwEM","y":"RvP_Kbhx\#
    rXBkC-e1qRMIO6JUcW7t6WuF4geaxl0SLrE","d":"q9Bt-SKfWlmXRd7SKpiry0gYtS0fs3PxVhbR4-8HZ-E"}
    """#
  static let ed25519 = #"""
    {"kty":"OKP","crv":"Ed25519","d":"2ivoMVa-8ENHyv0oKEqzoX1JBkDti1CuoAF_c3Ir0_o","x":"CvPY0XsHrUdgmlKb\#
    F5cone4TDLxu6yQCbN207PLtZx8"}
    """#
}
