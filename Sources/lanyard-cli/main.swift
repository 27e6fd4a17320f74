print("lanyard-cli")
