#pragma once

/// A program that links this module starts with a clean environment and with descriptors 0 to 2 open (Start.c).

/// Which of the descriptors 0 to 2 were closed when the program was started, a bit for each. They are open on
/// /dev/null now.
unsigned lanyard_closed_at_start(void);
