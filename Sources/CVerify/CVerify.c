#include "CVerify.h"
