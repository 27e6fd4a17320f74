print("lanyard-schemas")
