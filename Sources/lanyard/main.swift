print("lanyard")
